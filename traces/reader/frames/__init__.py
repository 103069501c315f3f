"""From columns to the declared frames."""
