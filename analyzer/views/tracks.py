"""A lane of the timeline: disjoint events of one thread or stream, and what of it to draw at a width."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.cause_names import CAUSES
from analyzer.spans.arrays import Int64Array

# Short events are drawn together over at most so many cells, so that a busy lane still says what it does where.
STRETCH_CELLS = 24


class LanePiece(msgspec.Struct, frozen=True):
    """A drawn piece, times relative to the step; `events` is how many it stands for, `busy_ns` how long they are together."""

    start_ns: int
    end_ns: int
    label: str
    cause: str
    events: int
    busy_ns: int


class Track(msgspec.Struct, frozen=True, eq=False):
    """A lane: disjoint events in order, times relative to the step.

    Args:
        name: `main thread`, `thread 4720 (autograd)`, `stream 7`.
        kind: host or device.
        level: Depth of nesting shown; 0 is the outermost.
        start_ns: Starts.
        end_ns: Ends.
        label: For each event an index into `labels`.
        cause: For each event an index into the causes.
        labels: The distinct names.
        detail: For each event an index into `details`.
        details: What is known of events beside name and time, each text once; empty where there is nothing to say.
    """

    name: str
    kind: str
    level: int
    start_ns: Int64Array
    end_ns: Int64Array
    label: Int64Array
    cause: Int64Array
    labels: tuple[str, ...]
    detail: Int64Array
    details: tuple[str, ...]

    @property
    def busy_ns(self) -> int:
        """Length of all events together."""
        return int((self.end_ns - self.start_ns).sum())

    def pieces(self, start_ns: int, end_ns: int, cells: int) -> tuple[LanePiece, ...]:
        """What to draw of a part of the step on so many cells: long events one by one, short neighbours as one piece.

        Args:
            start_ns: Left edge.
            end_ns: Right edge.
            cells: Width of the drawing.
        """
        first = int(np.searchsorted(self.end_ns, start_ns, side="right"))
        last = int(np.searchsorted(self.start_ns, end_ns, side="left"))
        if last <= first:
            return ()
        start, end = self.start_ns[first:last], self.end_ns[first:last]
        cell = max((end_ns - start_ns) / max(cells, 1), 1.0)
        small = (end - start) < cell * 2
        stretch = start // int(cell * STRETCH_CELLS + 1)
        # A new piece begins at a long event, after one, where the gap would fill half a cell, and in the next stretch.
        begins = np.ones(len(start), dtype=bool)
        begins[1:] = ~small[1:] | ~small[:-1] | (start[1:] - end[:-1] > cell / 2) | (stretch[1:] != stretch[:-1])
        heads = np.flatnonzero(begins)
        piece = np.cumsum(begins) - 1
        label = self._largest(piece, self.label[first:last], end - start)
        cause = self._largest(piece, self.cause[first:last], end - start)
        stops = np.append(heads[1:], len(start))
        busy = np.add.reduceat(end - start, heads).tolist()
        counts = (stops - heads).tolist()
        rows = zip(start[heads].tolist(), end[stops - 1].tolist(), label, cause, counts, busy, strict=True)
        return tuple(
            LanePiece(
                begin, stop, self.labels[name] + (f" +{count - 1}" if count > 1 else ""), CAUSES[owner], count, busy_ns
            )
            for begin, stop, name, owner, count, busy_ns in rows
        )

    @staticmethod
    def _largest(piece: Int64Array, code: Int64Array, length: Int64Array) -> list[int]:
        """For each piece the code with the most time in it."""
        span = int(code.max()) + 1
        pairs, place = np.unique(piece * span + code, return_inverse=True)
        time = np.bincount(place, length)
        order = np.lexsort((time, pairs // span))
        last = np.append(np.flatnonzero(np.diff(pairs[order] // span)), len(order) - 1)
        largest: list[int] = (pairs[order[last]] % span).tolist()
        return largest


def choose_tracks(tracks: Sequence[Track], most: int) -> tuple[Track, ...]:
    """At most so many lanes, in order: nested levels go first, then the least busy; the main thread and a stream stay."""
    order = sorted(
        range(len(tracks)),
        key=lambda index: (tracks[index].level, index != 0 and tracks[index].kind != "device", -tracks[index].busy_ns),
    )
    kept = sorted(order[: max(most, 1)])
    return tuple(tracks[index] for index in kept)
