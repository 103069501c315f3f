"""Stacks and lines, looked at now and then."""
