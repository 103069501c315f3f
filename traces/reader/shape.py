"""How events are decoded: what decoding and mending ask of a decoder of events, whichever it is."""

from __future__ import annotations

from collections import Counter
from typing import Generic, Protocol, TypeVar

import msgspec

Item = TypeVar("Item")
# Number of an event, and the byte at which it begins.
Place = tuple[int, int]

# What decoding raises on text that is no sound run of events.
FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Shape(Protocol, Generic[Item]):
    """How events are decoded."""

    def prepare(self, text: bytes) -> None:
        """Looks at text before its events are decoded one by one."""
        ...

    def many(self, array: bytes, place: Place) -> list[Item]:
        """All events of a JSON array that stands at a place; raises one of `FAILURES` where any is unsound."""
        ...

    def one(self, text: bytes) -> tuple[Item, Counter[str]]:
        """One event, mended where possible, with what was mended; raises one of `FAILURES`."""
        ...
