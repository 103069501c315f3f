"""Which event of the file each row of the columns was, so that what is mended there can be told by its place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from traces.reader.columns.growing import Growing
from traces.reader.names.vocabulary import Kind

Mask = npt.NDArray[np.bool_]


class EventNumbers:
    """Numbers of events, from 0 as they were read, by kind and row.

    A byte for each event is all that is kept; numbers are worked out where one is asked for.
    """

    def __init__(self) -> None:
        self._kinds = Growing(np.int8)
        self._events = 0
        # Spans made of two halves come after all events; each counts as the half that began it.
        self._joined: list[int] = []
        self._left: dict[Kind, npt.NDArray[np.int64]] = {}

    def add(self, kinds: npt.NDArray[np.int8]) -> None:
        """Takes over the kinds of the next run of events."""
        self._kinds.add(kinds)
        self._events += len(kinds)

    def join(self, kinds: npt.NDArray[np.int8], halves: list[int]) -> None:
        """Takes over the kinds of spans that were made of halves, and the numbers of those that began them."""
        self._kinds.add(kinds)
        self._joined = halves

    def extend(self, other: EventNumbers) -> None:
        """Takes over the numbers of the events that follow, none of which came in halves."""
        self._kinds.add(other.kinds)
        self._events += other._events

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """The kind of every event, for `of_kinds`; shape (events,)."""
        return self._kinds.whole()

    @classmethod
    def of_kinds(cls, kinds: npt.NDArray[np.int8]) -> EventNumbers:
        """The numbers of events none of which came in halves."""
        made = cls()
        made.add(kinds)
        return made

    def drop(self, kind: Kind, mask: Mask) -> None:
        """Follows rows that are taken out."""
        self._left[kind] = self.of(kind)[~mask]

    def of(self, kind: Kind) -> npt.NDArray[np.int64]:
        """Of every row of a kind that is left, its event."""
        if kind in self._left:
            return self._left[kind]
        places = np.flatnonzero(self.kinds == int(kind))
        joined = np.array([*self._joined, 0], dtype=np.int64)
        return np.where(places < self._events, places, joined[np.maximum(places - self._events, -1)])
