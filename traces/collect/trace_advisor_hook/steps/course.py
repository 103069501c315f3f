"""The course of a whole run: how long its steps took, in bounded memory, and what lies before, between and after them."""

from __future__ import annotations

import heapq
import math
import time
from typing import Any

from ..marks.gc_marks import passes_so_far
from ..surroundings.core_wait import ThreadWait

# Bins a factor of 2 ** (1/8) apart: a median within 4.5 %, from a nanosecond to a year in 440 of them.
_BINS_OF_DOUBLE = 8
# The longest steps are kept one by one, to see how often they come.
_MOST_LONG = 256
# The median of fewer steps may be a start-up step.
_FEWEST = 8
# How often the median is worked out anew, in steps.
_EVERY = 32
# A step is long from three medians on: twice the median is common among steps that are alike (DL004, PY005), and 10 ms is no
# dispatch any more (PY004 calls so long a silence a pause).
LONG_RATIO = 3
LONG_NS = 10_000_000
# A program may make a loader for each evaluation: those beyond are not told apart.
_MOST_DRAWN = 64


class Course:
    """Counts every step of a run.

    A step lasts from the end of one to the end of the next: what a program does between two of them, such as an evaluation, makes
    the later one long. Steps with the profiler on are counted apart, as is what recording itself takes, and the time in which the
    thread had no core: other programs make a step longer, and no work of another kind.
    """

    def __init__(self) -> None:
        self.started_ns = time.perf_counter_ns()
        self.restart()

    def restart(self) -> None:
        """Forget the steps: they were of another loop."""
        self.first_ns: int | None = None
        self.last_ns = self.started_ns
        self.steps = 0
        self.profiled = 0
        self.profiled_ns = 0
        self.own_ns = 0
        self.waiting = ThreadWait()
        self.waited_at_ns = self.waiting.ns()
        self.waited_ns = 0
        # Passes of the garbage collector over the two younger generations and over all, in steps with the profiler off.
        self.passes = [0, 0]
        self._passes_at = passes_so_far()
        self.bins: dict[int, list[int]] = {}
        self.longest: list[tuple[int, int]] = []
        self.limit_ns: int | None = None
        self._last_long = 0
        # Steps as in `bins`, by the loaders of which they drew batches.
        self._drawn: dict[frozenset[int], dict[int, list[int]]] = {}

    def step(self, now_ns: int, duration_ns: int, *, profiled: bool, loaders: set[int]) -> bool:
        """A step is over.

        Args:
            now_ns: When.
            duration_ns: How long it took, without what recording took.
            profiled: Whether the profiler was on.
            loaders: Of which loaders it drew batches.

        Returns:
            Whether it is known to be an ordinary one: with the profiler off, and not long by what it took of a core.
        """
        if self.first_ns is None:
            self.first_ns, self._passes_at = now_ns, passes_so_far()
            return False
        self.steps += 1
        passes, self._passes_at = self._passes_at, passes_so_far()
        if profiled:
            self.profiled += 1
            self.profiled_ns += duration_ns
            return False
        self.passes = [
            sum_ + now - before for sum_, before, now in zip(self.passes, passes, self._passes_at, strict=True)
        ]
        without_core_ns = min(self.lacked_ns(), duration_ns)
        self.waited_ns += without_core_ns
        duration_ns -= without_core_ns
        key = round(_BINS_OF_DOUBLE * math.log2(max(duration_ns, 1)))
        _count(self.bins, key, duration_ns)
        drawn = frozenset(loaders)
        if drawn in self._drawn or len(self._drawn) < _MOST_DRAWN:
            _count(self._drawn.setdefault(drawn, {}), key, duration_ns)
        self._note(duration_ns)
        if self.steps % _EVERY == 0 or (self.limit_ns is None and self.steps >= _FEWEST):
            self.limit_ns = max(LONG_RATIO * self.median_ns(), LONG_NS)
        return self.limit_ns is not None and duration_ns < self.limit_ns

    def _note(self, duration_ns: int) -> None:
        """Keep the step if it is one of the longest."""
        item = (duration_ns, self.steps)
        if len(self.longest) < _MOST_LONG:
            heapq.heappush(self.longest, item)
        elif item > self.longest[0]:
            heapq.heapreplace(self.longest, item)
        if self.limit_ns is not None and duration_ns >= self.limit_ns:
            self._last_long = self.steps

    def other_batches_ns(self) -> int:
        """How long those long steps take together that draw batches of a loader of which hardly any but long steps do.

        What is long is known in the end: the median of the first steps holds start-up, and an evaluation may come before it falls.
        """
        limit = max(LONG_RATIO * self.median_ns(), LONG_NS)
        usual: dict[int, int] = {}
        for drawn, bins in self._drawn.items():
            more = sum(count if total <= limit * count else -count for count, total in bins.values())
            for loader in drawn:
                usual[loader] = usual.get(loader, 0) + more
        return sum(
            total
            for drawn, bins in self._drawn.items()
            if any(usual[loader] < 0 for loader in drawn)
            for count, total in bins.values()
            if total > limit * count
        )

    def lacked_ns(self) -> int:
        """For how long the thread has had no core in the step that runs; 0 where the system does not tell."""
        return max(0, self.waiting.ns() - self.waited_at_ns)

    def is_long(self) -> bool:
        """Whether the step that runs is a long one already."""
        return self._has_lasted(self.limit_ns)

    def is_late(self) -> bool:
        """Whether the step that runs takes longer than usual: what comes now is what a long one has more of."""
        return self._has_lasted(None if self.limit_ns is None else self.limit_ns / LONG_RATIO)

    def may_be_late(self) -> bool:
        """Whether it does by the clock alone: nothing is asked that lets go of the interpreter's lock."""
        return self.limit_ns is not None and time.perf_counter_ns() - self.last_ns >= self.limit_ns / LONG_RATIO

    def _has_lasted(self, limit_ns: float | None) -> bool:
        lasted_ns = time.perf_counter_ns() - self.last_ns
        return limit_ns is not None and lasted_ns >= limit_ns and lasted_ns - self.lacked_ns() >= limit_ns

    def was_long(self, number: int) -> bool:
        """Whether the last long step is that one, counted from 1."""
        return self._last_long == number

    def worked(self, since_ns: int) -> None:
        """Recording itself took the time since then; the next step begins now."""
        self.last_ns, self.waited_at_ns = time.perf_counter_ns(), self.waiting.ns()
        self.own_ns += self.last_ns - since_ns
        self._passes_at = passes_so_far()

    def median_ns(self) -> int:
        """Mean of the bin in which the median of the steps lies; 0 without steps."""
        half = sum(count for count, _ in self.bins.values()) / 2
        for key in sorted(self.bins):
            count, total = self.bins[key]
            half -= count
            if half <= 0:
                return total // count
        return 0

    def told(self) -> dict[str, Any]:
        """All of it, JSON-able; durations in ns."""
        now = time.perf_counter_ns()
        first = now if self.first_ns is None else self.first_ns
        return {
            "ns": now - self.started_ns,
            "before_ns": first - self.started_ns,
            "after_ns": now - self.last_ns if self.first_ns is not None else 0,
            "own_ns": self.own_ns,
            "steps": self.steps,
            "profiled_steps": self.profiled,
            "profiled_ns": self.profiled_ns,
            "waited_ns": self.waited_ns,
            "collections": dict(zip(("middle", "full"), self.passes, strict=True)),
            # Count and sum of each bin, the shortest steps first.
            "times": [self.bins[key] for key in sorted(self.bins)],
            "longest": [[number, duration] for duration, number in sorted(self.longest, key=lambda item: item[1])],
            "other_batches_ns": self.other_batches_ns(),
        }


def _count(bins: dict[int, list[int]], key: int, duration_ns: int) -> None:
    """Count a step, and what it took, in a bin."""
    found = bins.setdefault(key, [0, 0])
    found[0] += 1
    found[1] += duration_ns
