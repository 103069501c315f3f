"""How long the steps of a side take, in two measures, and how far each can be trusted.

Other programs only ever add to a step. So beside the median stands the mean of the fastest quarter: what the script takes where
it was left alone. It hardly moves where stalls, a second mode or a busy half of the run move the median, and what the script
itself takes longer shows in both.

How far a measure can be trusted has two parts. Within a run: its steps drawn again, in blocks as long as neighbours are alike.
Between runs: how far the calmer half of a side's runs lie apart and, as one run cannot show that, an amount granted to it. Where
the runs of one side rank before those of the other, how far they lie apart hides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from analyzer.compare.ranked import mann_whitney

Float64Array = npt.NDArray[np.float64]
Measure = Callable[[Float64Array], Float64Array]
Runs = Sequence[Sequence[int]]

# Ends of the interval: 95 % of the draws lie between them.
CONFIDENCE = 0.95
_DRAWS = 1000
_FASTEST = 0.25
# Of several runs of a side the calmer ones count: what other programs did to a run is no property of the script.
_CALM = 0.25
# With one run a side, what differs between two runs of one script (placement in memory, clocks, other load) cannot be measured;
# this much is granted to it: two and a half times the 2 % by which medians of equal runs differed on an otherwise idle machine
# (tests/bench/gate.py). It shrinks with the root of the number of runs.
RUN_TO_RUN = 0.05
# Over the number of runs: of normally distributed runs, the levels of two equal sides of four to ten runs are in 95 % of all cases
# no further apart than this many times the distance from a side's median run to its fastest, of both sides together. Two or three
# runs would need more, but say too little of their own spread to ask for it: two standard errors have to do.
_SPREADS = 5.5
_MOST_SPREADS = 1.5


@dataclass(frozen=True)
class Move:
    """How one measure changed from one side to the other; everything as a share of the side before.

    Args:
        ratio: After over before, less one.
        low: Lower end of the interval of `ratio`, from the steps drawn again.
        high: Upper end.
        floor: How much of `ratio` may differ between equal runs.
        granted: What of `floor` is granted to any runs, however alike they are.
        apart: Whether rank tests of both measures tell the runs of the two sides from each other; four a side are the fewest
            that can.
    """

    ratio: float
    low: float
    high: float
    floor: float
    granted: float
    apart: bool

    @property
    def _beyond(self) -> float:
        return self.granted if self.apart else self.floor

    @property
    def grown(self) -> bool:
        """Whether this much more cannot be the steps' own spread, nor what differs between equal runs."""
        return self.ratio > self._beyond and self.low > 0

    @property
    def shrunk(self) -> bool:
        """The same for less."""
        return self.ratio < -self._beyond and self.high < 0

    @property
    def still(self) -> bool:
        """Whether it is known not to have moved by more than twice what differs between equal runs."""
        return abs(self.ratio) <= self._beyond and -2 * self.floor <= self.low and self.high <= 2 * self.floor


def fastest(steps: Float64Array) -> Float64Array:
    """Mean of the fastest quarter along the last axis."""
    count = max(round(steps.shape[-1] * _FASTEST), 1)
    return np.asarray(np.partition(steps, count - 1, axis=-1)[..., :count].mean(axis=-1))


def middle(steps: Float64Array) -> Float64Array:
    """Median along the last axis."""
    return np.asarray(np.median(steps, axis=-1))


def moves(before: Runs, after: Runs) -> tuple[Move, Move]:
    """How the fastest quarter of the steps moved, and how their median did.

    Args:
        before: Step times in ns, one sequence per run.
        after: The same of the other side.
    """
    # One input has one answer.
    random = np.random.default_rng(0)
    first, second = ([np.asarray(run, dtype=np.float64) for run in side] for side in (before, after))
    drawn_first, drawn_second = ([_drawn(run, random) for run in side] for side in (first, second))
    found = []
    apart = all(_apart(first, second, measure) for measure in (fastest, middle))
    for measure in (fastest, middle):
        draws = _level(drawn_second, measure) / _level(drawn_first, measure) - 1
        ratio = float(_level(second, measure) / _level(first, measure)) - 1
        low, high = (float(np.quantile(draws, end)) for end in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
        granted = _granted(first) + _granted(second)
        floor = sqrt(granted + _spread(first, measure) + _spread(second, measure))
        found.append(Move(ratio, low, high, floor, sqrt(granted), apart))
    return found[0], found[1]


def _level(runs: Sequence[Float64Array], measure: Measure) -> Float64Array:
    return np.asarray(np.quantile([measure(run) for run in runs], _CALM, axis=0))


def _spread(runs: Sequence[Float64Array], measure: Measure) -> float:
    """Square of the share by which the level of a side may be off, by what its runs differ from each other."""
    levels = np.array([measure(run) for run in runs])
    between = float((np.median(levels) - levels.min()) / np.quantile(levels, _CALM))
    return (min(_SPREADS / len(runs), _MOST_SPREADS) * between) ** 2


def _granted(runs: Sequence[Float64Array]) -> float:
    """The same, by what runs may differ that look alike.

    Where the fastest steps of one run do not agree among themselves, none of them was left alone, and that run says little
    of the next.
    """
    edges = [float(np.quantile(run, 0.25) / np.quantile(run, 0.05)) - 1 for run in runs]
    return (RUN_TO_RUN**2 + float(np.quantile(edges, _CALM)) ** 2) / 2 / len(runs)


def _apart(before: Sequence[Float64Array], after: Sequence[Float64Array], measure: Measure) -> bool:
    first, second = (np.array([float(measure(run)) for run in side]) for side in (before, after))
    return mann_whitney(first, second, exact=True).p_value < 1 - CONFIDENCE


def _drawn(run: Float64Array, random: np.random.Generator) -> Float64Array:
    """The steps of a run drawn again, in blocks of neighbours: an array of draws by steps."""
    length = min(ceil(alike(run)), max(len(run) // 4, 1))
    starts = random.integers(0, len(run), size=(_DRAWS, ceil(len(run) / length)))
    index = (starts[:, :, None] + np.arange(length)) % len(run)
    drawn: Float64Array = run[index.reshape(_DRAWS, -1)[:, : len(run)]]
    return drawn


def alike(run: Float64Array) -> float:
    """How many neighbouring steps say as much as one independent step, from the autocorrelation of their ranks (at least 1)."""
    ranks = np.argsort(np.argsort(run)) - (len(run) - 1) / 2
    total = float(ranks @ ranks)
    steps = 1.0
    for lag in range(1, len(run) // 4):
        correlation = float(ranks[:-lag] @ ranks[lag:]) / total
        # Below this it cannot be told from chance.
        if correlation <= len(run) ** -0.5:
            break
        steps += 2 * correlation
    return steps
