"""Worlds of which it is known what may be said of them: the rows of `python tests/confusion.py`."""
