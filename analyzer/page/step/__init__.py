"""The drawn step: its bar, its lanes, what is left of it."""
