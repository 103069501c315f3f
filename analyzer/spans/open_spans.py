"""Which span is open at a moment: asked often, so spans are sorted once and each question is a search and a short climb."""

from __future__ import annotations

from typing import Literal

import numpy as np

from analyzer.spans.arrays import Int64Array, RowArray, narrow
from analyzer.spans.nesting import nest, outer_first_per_thread

NONE = -1


class OpenSpans:
    """Spans of any number of threads, ready to be asked which one is open when.

    Args:
        thread: Thread of each span, shape (spans,).
        start_ns: Starts, same shape.
        end_ns: Ends, same shape.
        parent: Row of the span around each, its own for an outermost one, as `nest` finds it; worked out where it is not given.
    """

    def __init__(
        self, thread: Int64Array, start_ns: Int64Array, end_ns: Int64Array, parent: RowArray | None = None
    ) -> None:
        self._parent = nest(thread, start_ns, end_ns).parent if parent is None else parent
        # As `nest` has it, a span lasts a nanosecond at least.
        self._end = end_ns if (end_ns > start_ns).all() else np.maximum(end_ns, start_ns + 1)
        # Outer spans before inner ones that begin with them.
        order = narrow(outer_first_per_thread(thread, start_ns, self._end))
        lanes = thread.take(order)
        parts = np.split(order, np.flatnonzero(lanes[1:] != lanes[:-1]) + 1) if len(order) else []
        self._rows = {int(thread[rows[0]]): rows for rows in parts}
        self._start = start_ns

    def at(self, thread: Int64Array, at_ns: Int64Array) -> Int64Array:
        """The innermost span open at each moment on its thread: the last that began, or the first around it that has not ended.

        Args:
            thread: Threads, shape (n,).
            at_ns: Moments, shape (n,).

        Returns:
            Rows of the spans, -1 where none is open. Shape (n,).
        """
        found = self._last(thread, at_ns, "right")
        climbing = np.flatnonzero(found != NONE)
        while len(climbing := climbing[self._end[found[climbing]] <= at_ns[climbing]]):
            last = found[climbing]
            above = self._parent[last]
            found[climbing] = np.where(above == last, NONE, above)
            climbing = climbing[above != last]
        return found

    def before(self, thread: Int64Array, at_ns: Int64Array) -> Int64Array:
        """The span that begins last before each moment on its thread, open or not.

        Args:
            thread: Threads, shape (n,).
            at_ns: Moments, shape (n,).

        Returns:
            Rows of the spans, -1 where none begins before. Shape (n,).
        """
        return self._last(thread, at_ns, "left")

    def _last(self, thread: Int64Array, at_ns: Int64Array, side: Literal["left", "right"]) -> Int64Array:
        """The last span that begins before each moment on its thread, or with it where `side` is right; -1 for none."""
        found = np.full(len(at_ns), NONE, dtype=np.int64)
        for lane, rows in self._rows.items():
            mine = np.flatnonzero(thread == lane)
            if len(mine):
                place = np.searchsorted(self._start.take(rows), at_ns[mine], side=side) - 1
                found[mine] = np.where(place >= 0, rows.take(place), NONE)
        return found
