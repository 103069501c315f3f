"""Which screen is shown, and how to get to the others: modes, switching, the palette."""
