"""Sets of half-open time intervals, the arithmetic every measurement rests on.

A set is kept normal: sorted, disjoint, without empty intervals, in int64 nanoseconds. All operations are vectorised and take
O(n log n); the method for union, intersection and difference is the usual sweep over sorted ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from analyzer.spans.arrays import BoolArray, Int64Array, RowArray, cuts, pieces

if TYPE_CHECKING:
    import pandas as pd


_EMPTY: Int64Array = np.empty(0, dtype=np.int64)
_EMPTY.setflags(write=False)


class IntervalSet:
    """An immutable set of disjoint half-open intervals `[start, end)` in nanoseconds.

    Args:
        start_ns: Starts, int64, any order, shape (n,).
        end_ns: Ends, same shape; an interval whose end is not after its start is dropped.
    """

    __slots__ = ("end_ns", "start_ns")

    start_ns: Int64Array
    end_ns: Int64Array

    def __init__(self, start_ns: npt.ArrayLike = _EMPTY, end_ns: npt.ArrayLike = _EMPTY) -> None:
        start = np.asarray(start_ns, dtype=np.int64)
        end = np.asarray(end_ns, dtype=np.int64)
        if not len(start) and not len(end):
            self.start_ns = self.end_ns = _EMPTY
            return
        keep = end > start
        if not keep.all():
            start, end = start.compress(keep), end.compress(keep)
        if len(start) > 1:
            if (start[1:] < start[:-1]).any():
                # Each by itself: as many ends lie before a gap as starts, so that none need know whose it is.
                start, end = np.sort(start, kind="stable"), np.sort(end, kind="stable")
            else:
                end = np.maximum.accumulate(end)
            start, end = _merged(start, end)
        else:
            # What is kept is made read-only, which the caller's own arrays must not become.
            start, end = start.copy(), end.copy()
        self._keep(start, end)

    def _keep(self, start: Int64Array, end: Int64Array) -> None:
        start.setflags(write=False)
        end.setflags(write=False)
        self.start_ns = start
        self.end_ns = end

    @classmethod
    def _normal(cls, start: Int64Array, end: Int64Array) -> IntervalSet:
        """The set of intervals that are sorted, apart and not empty already."""
        made = cls.__new__(cls)
        made._keep(start, end)
        return made

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> IntervalSet:
        """The set of the given (start, end) pairs in nanoseconds."""
        array = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        return cls(array[:, 0], array[:, 1])

    @classmethod
    def of_rows(cls, frame: pd.DataFrame, rows: BoolArray | RowArray | None = None) -> IntervalSet:
        """When the events of a frame run.

        Args:
            frame: Columns start_ns and end_ns.
            rows: Which of its rows: a mask, or positions; None for all.
        """
        start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
        if rows is None:
            return cls(start, end)
        # A third of the time that a mask takes as an index.
        some = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return cls(start.take(some), end.take(some))

    @classmethod
    def union(cls, parts: Iterable[IntervalSet]) -> IntervalSet:
        """All that any of the parts holds, put together at once."""
        found = [part for part in parts if part]
        if len(found) < 2:
            return found[0] if found else EMPTY
        start, end = (np.concatenate([getattr(part, name) for part in found]) for name in ("start_ns", "end_ns"))
        # Sorted in place: of millions of intervals each array is 8 MB. Runs that are sorted are only merged.
        start.sort(kind="stable")
        end.sort(kind="stable")
        return cls._normal(*_merged(start, end))

    @property
    def longest_ns(self) -> int:
        """Length of the longest interval; 0 without any."""
        return int((self.end_ns - self.start_ns).max(initial=0))

    @property
    def total_ns(self) -> int:
        """Length of all intervals together."""
        return int((self.end_ns - self.start_ns).sum()) if self else 0

    def __len__(self) -> int:
        return len(self.start_ns)

    def __bool__(self) -> bool:
        return len(self.start_ns) > 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return np.array_equal(self.start_ns, other.start_ns) and np.array_equal(self.end_ns, other.end_ns)

    def __hash__(self) -> int:
        return hash((self.start_ns.tobytes(), self.end_ns.tobytes()))

    def __repr__(self) -> str:
        return f"IntervalSet.of({self.pairs()!r})" if len(self) <= 8 else f"<{len(self)} intervals, {self.total_ns} ns>"

    def pairs(self) -> list[tuple[int, int]]:
        """The intervals as plain (start, end) pairs."""
        return list(zip(self.start_ns.tolist(), self.end_ns.tolist(), strict=True))

    def __or__(self, other: IntervalSet) -> IntervalSet:
        return IntervalSet.union((self, other))

    def __and__(self, other: IntervalSet) -> IntervalSet:
        if not self or not other:
            return EMPTY
        # Most often one of the two is the used steps, which follow one another without a gap.
        if len(other) == 1:
            return self.clip(int(other.start_ns[0]), int(other.end_ns[0]))
        if len(self) == 1:
            return other.clip(int(self.start_ns[0]), int(self.end_ns[0]))
        few, many = (self, other) if len(self) < len(other) else (other, self)
        # Two parts never touch: where one ends, one of the two sets has a gap.
        touched = many.start_ns.searchsorted(few.end_ns[-1]) - many.end_ns.searchsorted(few.start_ns[0])
        start, end = (np.empty(len(few) + max(int(touched), 0), dtype=np.int64) for _ in range(2))
        parts = 0
        for some in pieces(len(few)):
            begins, ends = few.start_ns[some], few.end_ns[some]
            # For each of the few, the run of the many that touch it.
            low = many.end_ns.searchsorted(begins, side="right")
            high = many.start_ns.searchsorted(ends, side="left")
            count = np.maximum(high - low, 0)
            mine = np.repeat(np.arange(len(begins)), count)
            theirs = np.arange(len(mine))
            theirs += np.repeat(low - (np.cumsum(count) - count), count)
            here = slice(parts, parts + len(mine))
            np.maximum(begins[mine], many.start_ns[theirs], out=start[here])
            np.minimum(ends[mine], many.end_ns[theirs], out=end[here])
            parts += len(mine)
        return self._cut_off(start, end, parts)

    def __sub__(self, other: IntervalSet) -> IntervalSet:
        if not self or not other:
            return self
        low, high = int(self.start_ns[0]), int(self.end_ns[-1])
        larger = self if len(self) > len(other) else other
        inner = cuts(larger.start_ns)
        if not len(inner):
            return self & other.complement(low, high)
        # In stretches that begin with an interval of the larger set: there no part that is left goes on from the one before.
        edges = [low, *inner[(inner > low) & (inner < high)].tolist(), high]
        touched = other.start_ns.searchsorted(high) - other.end_ns.searchsorted(low)
        start, end = (np.empty(len(self) + max(int(touched), 0), dtype=np.int64) for _ in range(2))
        parts = 0
        for begin, stop in pairwise(edges):
            found = self.clip(begin, stop) & other.complement(begin, stop)
            here = slice(parts, parts + len(found))
            start[here], end[here] = found.start_ns, found.end_ns
            parts += len(found)
        return self._cut_off(start, end, parts)

    @classmethod
    def _cut_off(cls, start: Int64Array, end: Int64Array, parts: int) -> IntervalSet:
        """The set of the first intervals in two arrays, which are given up."""
        start.resize(parts, refcheck=False)
        end.resize(parts, refcheck=False)
        return cls._normal(start, end)

    def complement(self, start_ns: int, end_ns: int) -> IntervalSet:
        """What `[start_ns, end_ns)` holds beside this set."""
        inside = self.clip(start_ns, end_ns)
        starts, ends = np.append(start_ns, inside.end_ns), np.append(inside.start_ns, end_ns)
        # Only the first and the last can be empty: where this set begins at the start, or ends at the end.
        first, last = int(starts[0] >= ends[0]), len(starts) - int(starts[-1] >= ends[-1])
        return self._normal(starts[first:last], ends[first:last])

    def clip(self, start_ns: int, end_ns: int) -> IntervalSet:
        """The part inside `[start_ns, end_ns)`."""
        if end_ns <= start_ns:
            return IntervalSet()
        first = int(self.end_ns.searchsorted(start_ns, side="right"))
        last = max(first, int(self.start_ns.searchsorted(end_ns, side="left")))
        if last - first == len(self) and (not self or (start_ns <= self.start_ns[0] and self.end_ns[-1] <= end_ns)):
            return self
        return self._normal(
            np.maximum(self.start_ns[first:last], start_ns), np.minimum(self.end_ns[first:last], end_ns)
        )

    def touching(self, other: IntervalSet) -> IntervalSet:
        """The intervals that share some time with another set, each whole."""
        if not self or not other:
            return EMPTY
        following = other.end_ns.searchsorted(self.start_ns, side="right")
        some = following < len(other)
        some[some] = other.start_ns[following[some]] < self.end_ns[some]
        return self._normal(self.start_ns[some], self.end_ns[some])

    def scaled(self, ratio: float) -> IntervalSet:
        """Every interval shortened to `ratio` (0..1) of its length, keeping its start.

        Used where only a share of a cause can be saved: the claim then stays inside the cause, and claims of several rules can
        still be united without counting anything twice.
        """
        if ratio >= 1:
            return self
        return IntervalSet(
            self.start_ns, self.start_ns + ((self.end_ns - self.start_ns) * max(ratio, 0.0)).astype(np.int64)
        )

    def overlap_with(self, start_ns: npt.ArrayLike, end_ns: npt.ArrayLike) -> Int64Array:
        """For each given interval (they may overlap each other) the nanoseconds of it that lie in this set.

        Args:
            start_ns: Starts, shape (n,).
            end_ns: Ends, shape (n,).

        Returns:
            int64 array of shape (n,).
        """
        start = np.asarray(start_ns, dtype=np.int64)
        end = np.asarray(end_ns, dtype=np.int64)
        if not self:
            return np.zeros(len(start), dtype=np.int64)
        overlap: Int64Array = np.empty(len(start), dtype=np.int64)
        before = np.cumsum(self.end_ns - self.start_ns)
        for here in pieces(len(start)):
            covered = self._covered_before(end[here], before) - self._covered_before(start[here], before)
            np.maximum(covered, 0, out=overlap[here])
        return overlap

    def contains(self, at_ns: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """For each moment, whether it lies in the set. Shape (n,) in, shape (n,) out."""
        at = np.asarray(at_ns, dtype=np.int64)
        if not self:
            return np.zeros(len(at), dtype=bool)
        if len(self) == 1:
            return np.asarray((at >= self.start_ns[0]) & (at < self.end_ns[0]), dtype=np.bool_)
        index = self.start_ns.searchsorted(at, side="right") - 1
        inside: npt.NDArray[np.bool_] = (index >= 0) & (at < self.end_ns[np.maximum(index, 0)])
        return inside

    def _covered_before(self, at_ns: Int64Array, until: Int64Array) -> Int64Array:
        """Nanoseconds of the set that lie before each moment.

        Args:
            at_ns: Moments, shape (n,).
            until: What each interval and those before it last together.
        """
        if len(self) == 1:
            inside: Int64Array = np.minimum(np.maximum(at_ns, self.start_ns[0]), self.end_ns[0]) - self.start_ns[0]
            return inside
        index = self.start_ns.searchsorted(at_ns, side="right") - 1
        early = index < 0
        index[early] = 0
        # Up to the end of the interval that began last, less what of that is still to come.
        coming = self.end_ns[index]
        coming -= at_ns
        covered = until[index]
        covered -= np.maximum(coming, 0, out=coming)
        covered[early] = 0
        return covered


def _merged(start: Int64Array, end: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Sorted starts and sorted ends of at least one interval, touching and overlapping ones made one."""
    # A new interval begins where the start lies past everything seen so far.
    apart = np.ones(len(start) + 1, dtype=np.bool_)
    np.greater(start[1:], end[:-1], out=apart[1:-1])
    return start.compress(apart[:-1]), end.compress(apart[1:])


EMPTY = IntervalSet()
