"""Where in the text which event stands, found out only for those that a repair names.

Decoding tells no places, so one is kept for each run of events; from there on the text is read once more.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from traces.reader.mend.nesting import event_starts


class Places:
    """The byte at which some events begin; events are numbered from 0 as they were read."""

    def __init__(self) -> None:
        self._events = array("q")
        self._offsets = array("q")

    def add(self, event: int, offset: int) -> None:
        """Keeps where one event begins; called in their order."""
        self._events.append(event)
        self._offsets.append(offset)

    def extend(self, other: Places, before: int, offset: int = 0) -> None:
        """Takes over the places of events that follow `before` others, in text that begins at an offset."""
        self._events.extend(event + before for event in other._events)
        self._offsets.extend(place + offset for place in other._offsets)

    def arrays(self) -> dict[str, npt.NDArray[np.int64]]:
        """All of them, for `of`."""
        return {"events": np.array(self._events), "offsets": np.array(self._offsets)}

    @classmethod
    def of(cls, arrays: dict[str, npt.NDArray[np.int64]]) -> Places:
        """The places that `arrays` gave."""
        made = cls()
        made._events.frombytes(arrays["events"].tobytes())
        made._offsets.frombytes(arrays["offsets"].tobytes())
        return made

    def around(self, event: int) -> tuple[int, int, int | None] | None:
        """Number and offset of the nearest known event that is not behind this one, and the offset of the one after it."""
        index = bisect_right(self._events, event) - 1
        if index < 0:
            return None
        following = self._offsets[index + 1] if index + 1 < len(self._offsets) else None
        return self._events[index], self._offsets[index], following


def offsets(blocks: Iterable[bytes], places: Places, events: Iterable[int]) -> dict[int, int]:
    """The byte at which each of some events begins, as far as the text shows it.

    Args:
        blocks: The text from its beginning, as it was decoded.
        places: What is known.
        events: Their numbers.
    """
    found: dict[int, int] = {}
    window = _Window(iter(blocks))
    for event in sorted(set(events)):
        known = places.around(event)
        if known is None:
            continue
        number, offset, until = known
        text = window.text(offset, until)
        start = next(islice(event_starts(text), event - number, None), None)
        if start is not None:
            found[event] = offset + start
    return found


class _Window:
    """A part of a text that moves forward.

    Args:
        blocks: The text.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._held = b""
        self._begin = 0

    def text(self, start: int, end: int | None) -> bytes:
        """What stands from one byte to another, or to the end; starts must not go back."""
        while self._begin + len(self._held) <= start:
            self._begin += len(self._held)
            block = next(self._blocks, None)
            if block is None:
                self._held = b""
                return b""
            self._held = block
        pieces = [self._held[start - self._begin :]]
        size = len(pieces[0])
        while end is None or size < end - start:
            block = next(self._blocks, None)
            if block is None:
                break
            pieces.append(block)
            size += len(block)
        self._held, self._begin = b"".join(pieces), start
        return self._held if end is None else self._held[: end - start]
