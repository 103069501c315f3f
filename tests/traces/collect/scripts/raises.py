"""Fails in the middle."""


def fail():
    raise ValueError("no such column: price")


fail()
