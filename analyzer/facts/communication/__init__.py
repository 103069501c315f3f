"""Collectives, and the ranks of one job held against each other."""
