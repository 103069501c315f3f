"""Words, figures and names: each has one form in every display."""
