"""What stands in a name, whatever is written there."""

from __future__ import annotations

import pytest

from traces.reader.frames.arrays import trailing_number


@pytest.mark.parametrize(
    ("name", "number"),
    [("stream 7", 7), ("stream 7 20", 20), ("stream", 0), (None, 0), ("9" * 40, 0), ("stream 7²", 0), ("stream ²7", 7)],
)
def test_the_number_at_the_end_is_of_digits_that_make_one(name: str | None, number: int) -> None:
    """A raised two is a digit to Python, and no number."""
    assert trailing_number(name) == number
