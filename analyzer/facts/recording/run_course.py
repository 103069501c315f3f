"""The whole run that a recording is a part of: how much of it usual steps are, and what lies between them.

`advisor collect` counts every step of a run and samples the stack while one takes long (the key `run` of its metadata). A step
lasts from the end of one to the end of the next, so that what a program does between two, such as a rollout, makes one long.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from analyzer.facts.recording.regular_steps import RegularSteps, regular_steps
from analyzer.facts.recording.run_places import (
    FEWEST_OF_A_KIND,
    FEWEST_SAMPLES,
    FEWEST_USUAL,
    MOST_ROWS,
    OF_A_KIND,
    Place,
    places_of,
    within_of,
)
from analyzer.facts.recording.stated import MOST, dict_of, int_of
from analyzer.units import count
from traces.trace import Meta

# Twice the median is common among steps that are alike (DL004, PY005), and 10 ms is no dispatch any more (PY004).
LONG_RATIO = 3
LONG_NS = 10_000_000
# The collector counts steps by their length, in classes this wide.
_MEDIAN_ERROR = 0.045
# Fewer steps than an epoch of a toy hold no second evaluation.
FEWEST_STEPS = 20
# What long steps hold that is no work between them: waiting for the training's own loader or for other ranks, and what usual steps
# do as well.
_NOT_BETWEEN = ("loading", "ranks", "step")
# Long steps that come as regularly as this come every so many steps.
_REGULAR_RATIO = 0.2


class Collections(msgspec.Struct, frozen=True):
    """Passes of Python's garbage collector in a run's steps without the profiler.

    Args:
        middle: Over the two younger generations.
        full: Over all objects.
    """

    middle: int
    full: int


class RunCourse(msgspec.Struct, frozen=True):
    """A run's steps without the profiler, and what lies between usual ones.

    Args:
        steps: How many there were.
        median_ns: Their median, within 4.5 %.
        loop_ns: All of them together.
        between_ns: By how much long steps exceed the median, together.
        long_steps: How many are long.
        every: A long one comes every so many steps; None where they come irregularly.
        before_ns: From the start of the program to the first step.
        after_ns: From the last step to the end.
        profiled_steps: Steps with the profiler on; they are in no other figure.
        profiled_ns: How long they took.
        waited_ns: For how long the thread had no core in all of the steps; it is in no other figure.
        samples: Looks at the stack in long steps.
        usual_samples: Looks at it in usual ones; None where the recording does not tell.
        places: What was seen there, most first.
        within: What was seen in usual ones that is no training, most first; the shares are of usual steps.
        stopped: Whether the run was ended once its steps were recorded.
        regular: Steps that come regularly and take longer, where long ones do not; None where there are none.
        collections: Passes of the garbage collector in the steps; None where the recording does not tell.
    """

    steps: int
    median_ns: int
    loop_ns: int
    between_ns: int
    long_steps: int
    every: int | None
    before_ns: int
    after_ns: int
    profiled_steps: int
    profiled_ns: int
    waited_ns: int
    samples: int
    usual_samples: int | None
    places: tuple[Place, ...]
    within: tuple[Place, ...]
    stopped: bool
    regular: RegularSteps | None
    collections: Collections | None = None

    @property
    def mean_ns(self) -> float:
        """Of all steps."""
        return self.loop_ns / self.steps

    @property
    def beyond_usual_ns(self) -> float:
        """By how much steps exceed a usual one in the mean, at most: what comes in less than half of them cannot take more."""
        return max(self.mean_ns - (1 - _MEDIAN_ERROR) * self.median_ns, 0.0)

    @property
    def judged(self) -> bool:
        """Whether the steps are enough to tell what is usual."""
        return self.steps >= FEWEST_STEPS

    @property
    def told_apart(self) -> bool:
        """Whether long steps are known to do something else than usual ones: a name tells it, or both were looked at."""
        looked = self.usual_samples is None or self.usual_samples >= FEWEST_USUAL
        return bool(self.kinds) or (bool(self.places) and looked)

    @property
    def loading_ratio(self) -> float:
        """Share of what lies between that is the training's own loader: rules of their own tell of it."""
        return self._of("loading")

    @property
    def as_usual_ratio(self) -> float:
        """Share of what lies between in which a long step does what usual ones do as well, only for longer."""
        return self._of("step")

    @property
    def ranks_ratio(self) -> float:
        """Share of what lies between in which this rank waits for others: rules of their own tell of it."""
        return self._of("ranks")

    @property
    def work_ns(self) -> int:
        """What lies between without what is no work between steps."""
        return round(self.between_ns * max(0.0, 1 - sum(map(self._of, _NOT_BETWEEN))))

    def _of(self, kind: str) -> float:
        return sum(place.ratio for place in self.places if place.kind == kind)

    @property
    def work(self) -> list[Place]:
        """What was seen that is work between the steps, most first."""
        return [place for place in self.places if place.kind not in _NOT_BETWEEN]

    @property
    def work_ratio(self) -> float:
        """The same as a share of all steps together."""
        return self.work_ns / self.loop_ns if self.loop_ns else 0.0

    @property
    def outside(self) -> dict[str, float]:
        """Share of the whole run, from the start of the program to its end, before its first step and after its last."""
        whole = self.before_ns + self.loop_ns + self.profiled_ns + self.waited_ns + self.after_ns
        return (
            {"before its first step": self.before_ns / whole, "after its last": self.after_ns / whole} if whole else {}
        )

    @property
    def kinds(self) -> dict[str, float]:
        """Share of what lies between by what is done, most first; none with so little of it that it does not matter."""
        found: dict[str, float] = {}
        for place in self.places:
            if place.kind is not None and place.kind not in _NOT_BETWEEN:
                found[place.kind] = found.get(place.kind, 0.0) + place.ratio
        least = max(OF_A_KIND, (FEWEST_OF_A_KIND - 0.5) / self.samples if self.samples else 0.0)
        return {kind: ratio for kind, ratio in sorted(found.items(), key=lambda item: -item[1]) if ratio >= least}

    @property
    def kinds_within(self) -> dict[str, float]:
        """Share of usual steps by what they do that is no training, most first."""
        found: dict[str, float] = {}
        for place in self.within:
            if place.kind is not None:
                found[place.kind] = found.get(place.kind, 0.0) + place.ratio
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def regular_ratio(self) -> float:
        """What the steps that come regularly take longer than the others, as a share of all steps together."""
        found = self.regular
        return 0.0 if found is None or not self.loop_ns else found.more_ns * self.steps / found.every / self.loop_ns

    @property
    def rhythm(self) -> str:
        """`in 25 of 380 steps, every 16 steps`."""
        often = f", every {count(self.every, 'step')}" if self.every else ""
        return f"in {self.long_steps} of {count(self.steps, 'step')}{often}"


def run_course(meta: Meta) -> RunCourse | None:
    """Reads what the recording says of its run, believing nothing about its shape; None where it says nothing."""
    told = meta.advisor.get("run")
    if not isinstance(told, dict):
        return None
    bins = _pairs(told.get("times"))
    if not len(bins):
        return None
    counts, sums = bins[:, 0], bins[:, 1]
    steps, loop = int(counts.sum()), int(sums.sum())
    means, longest = sums / counts, _pairs(told.get("longest"))
    median = float(means[np.searchsorted(counts.cumsum(), steps / 2)])
    limit = max(LONG_RATIO * median, LONG_NS)
    long = means > limit
    every = _every(longest, limit)
    between = dict_of(told.get("between"))
    between_ns = int(sums[long].sum() - median * counts[long].sum())
    places = places_of(
        between,
        others=int_of(told.get("other_batches_ns")) > sums[long].sum() / 2,
        usual_part=median * int(counts[long].sum()) / between_ns if between_ns else 0.0,
    )
    return RunCourse(
        steps=steps,
        median_ns=round(median),
        loop_ns=loop,
        between_ns=between_ns,
        long_steps=int(counts[long].sum()),
        every=every,
        before_ns=int_of(told.get("before_ns")),
        after_ns=int_of(told.get("after_ns")),
        profiled_steps=int_of(told.get("profiled_steps")),
        profiled_ns=int_of(told.get("profiled_ns")),
        waited_ns=int_of(told.get("waited_ns")),
        samples=int_of(between.get("samples")),
        usual_samples=int_of(dict_of(between["usual"]).get("samples")) if "usual" in between else None,
        places=places,
        within=within_of(between),
        stopped=told.get("stopped") is True,
        # Of a longer run the shorter steps are not known one by one.
        regular=regular_steps(*longest[longest[:, 0].argsort()].T)
        if len(longest) == steps and not long.any()
        else None,
        collections=_collections(told.get("collections")),
    )


def _collections(told: Any) -> Collections | None:
    row = dict_of(told)
    known = all(_is_natural(row.get(key)) for key in ("middle", "full"))
    return Collections(row["middle"], row["full"]) if known else None


def _pairs(rows: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rows of a positive number and a duration, shape (rows, 2); empty where the value is anything else.

    A step that had no core all the while took no time of its own.
    """
    good = [row for row in rows if _is_pair(row)] if isinstance(rows, list) and len(rows) <= MOST_ROWS else []
    return np.array(good if isinstance(rows, list) and len(good) == len(rows) else [], dtype=float).reshape(-1, 2)


def _is_pair(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and 0 < int_of(row[0]) < MOST and _is_natural(row[1])


def _is_natural(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST


def _every(longest: np.ndarray[Any, np.dtype[np.float64]], limit: float) -> int | None:
    """After how many steps a long one comes again; None where there are too few, or the distance varies, or is one step."""
    numbers = longest[longest[:, 1] > limit, 0]
    if len(numbers) < FEWEST_SAMPLES:
        return None
    distances = np.diff(numbers)
    usual = float(np.median(distances))
    return round(usual) if usual >= 2 and np.mean(np.abs(distances - usual) <= _REGULAR_RATIO * usual) > 0.5 else None
