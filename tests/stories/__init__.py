"""Published stories of slow programs: what their traces look like, what is documented of them, and whether it is told.

`python tests/confusion.py` prints the share. Each story names where it was published; its world is built from what is described
there, in the proportions that are reported.
"""
