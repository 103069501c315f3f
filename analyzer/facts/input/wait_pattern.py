"""How waiting for batches is spread over the calls of the loader: steadily, in bursts, or once."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from analyzer.facts.host.section import HostFacts
from analyzer.facts.input.wait import InputWait
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet

# A call shorter than this hands over a batch that is ready: the residual in healthy recordings with workers is 1.3 ms at most,
# and mostly 0.1 (rules.md DL003).
WAITING_NS = 1_000_000
# The part of the calls that may hold all of a bursty wait. Rules.md asks for a fifth; with four workers, the usual number, a queue
# that is too short runs dry at every fourth batch.
_TOP_RATIO = 0.25


class WaitPattern(msgspec.Struct, frozen=True):
    """The loader's calls in the used steps, in order.

    Args:
        start_ns: Starts.
        end_ns: Ends.
        dur_ns: Durations, host time.
    """

    start_ns: Int64Array
    end_ns: Int64Array
    dur_ns: Int64Array

    def after_first(self) -> WaitPattern:
        """Without the first call, which may hold the start of the workers."""
        return WaitPattern(self.start_ns[1:], self.end_ns[1:], self.dur_ns[1:])

    def without(self, positions: Int64Array) -> WaitPattern:
        """Without the calls at these positions."""
        start, end, dur = (np.delete(values, positions) for values in (self.start_ns, self.end_ns, self.dur_ns))
        return WaitPattern(start, end, dur)

    @property
    def spans(self) -> IntervalSet:
        """When a call runs."""
        return IntervalSet(self.start_ns, self.end_ns)

    @property
    def total_ns(self) -> int:
        """All calls together."""
        return int(self.dur_ns.sum())

    @property
    def pace_ns(self) -> float:
        """Median time from one call's end to the next: what all workers together need for a batch while they are the limit."""
        return float(np.median(np.diff(self.end_ns))) if len(self.end_ns) > 1 else 0.0

    @property
    def median_ns(self) -> float:
        """Median call; 0 without calls."""
        return float(np.median(self.dur_ns)) if len(self.dur_ns) else 0.0

    @property
    def p95_ns(self) -> float:
        """95th percentile; 0 without calls."""
        return float(np.percentile(self.dur_ns, 95)) if len(self.dur_ns) else 0.0

    @property
    def waiting_ratio(self) -> float:
        """Share of the calls that wait over a millisecond."""
        return float((self.dur_ns > WAITING_NS).mean()) if len(self.dur_ns) else 0.0

    @property
    def top_ratio(self) -> float:
        """Share of all waiting that the longest quarter of the calls holds (at least one call)."""
        total = int(self.dur_ns.sum())
        number = int(np.ceil(len(self.dur_ns) * _TOP_RATIO))
        return float(np.sort(self.dur_ns)[-number:].sum() / total) if total else 0.0

    @property
    def spread(self) -> float:
        """p95 as a multiple of the median; 0 without calls."""
        return self.p95_ns / max(self.median_ns, 1.0) if len(self.dur_ns) else 0.0

    def longer_than(self, times: float) -> npt.NDArray[np.int64]:
        """Positions of calls at least `times` as long as the median of the others."""
        found = [
            index
            for index in np.flatnonzero(self.dur_ns >= times * max(self.median_ns, 1.0)).tolist()
            if self.dur_ns[index] >= times * max(float(np.median(np.delete(self.dur_ns, index))), 1.0)
        ]
        return np.array(found, dtype=np.int64)

    def at_least(self, times: float) -> Int64Array:
        """Positions of calls at least `times` as long as the median call."""
        return np.flatnonzero(self.dur_ns >= times * max(self.median_ns, 1.0))

    @property
    def two_longest_ns(self) -> tuple[int, int]:
        """The longest call and the one next to it; 0 for what there is not."""
        ranked = [0, 0, *sorted(self.dur_ns.tolist())]
        return ranked[-1], ranked[-2]

    def beginning(self, ns: float) -> IntervalSet:
        """The first `ns` nanoseconds of the first call."""
        start = self.start_ns[:1]
        return IntervalSet(start, np.minimum(self.end_ns[:1], start + int(ns)))

    def following(self, at_ns: Int64Array, until_ns: Int64Array, most: int) -> Int64Array:
        """Positions of the calls that begin from each moment on, so many at most and none from its end on.

        Args:
            at_ns: The moments, ascending, at least one.
            until_ns: The end of each.
            most: How many calls of each.
        """
        begin, end = np.searchsorted(self.start_ns, at_ns), np.searchsorted(self.start_ns, until_ns)
        ranges = [np.arange(low, min(low + most, high)) for low, high in zip(begin.tolist(), end.tolist(), strict=True)]
        return np.concatenate(ranges)

    def beyond(self, positions: Int64Array, ns: float) -> IntervalSet:
        """Of these calls the part after their first `ns` nanoseconds."""
        return IntervalSet(self.start_ns[positions] + int(ns), self.end_ns[positions])

    def period(self, positions: Int64Array) -> int | None:
        """Every how many calls these occur; None for fewer than three, or without regularity."""
        gaps = np.unique(np.diff(positions))
        return int(gaps[0]) if len(positions) >= 3 and len(gaps) == 1 else None


def wait_pattern(host: HostFacts, input_wait: InputWait) -> WaitPattern:
    """The pattern of the loader's calls, without those that end an epoch or begin one: they wait for something else (DL005)."""
    calls = input_wait.calls.sort_values("start_ns")
    calls = calls[~host.restarts.has(calls["start_ns"].to_numpy())]
    return WaitPattern(
        calls["start_ns"].to_numpy(np.int64), calls["end_ns"].to_numpy(np.int64), calls["dur_ns"].to_numpy(np.int64)
    )
