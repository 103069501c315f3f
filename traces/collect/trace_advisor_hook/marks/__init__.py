"""Ranges and marks that are put into a recording."""
