"""Screens: they compose widgets and pass messages between them."""
