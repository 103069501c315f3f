"""How long the steps of a side take, in two measures, and how far each can be trusted.

Other programs only ever add to a step. So beside the median stands the mean of the fastest quarter: what the script takes where
it was left alone. It hardly moves where stalls, a second mode or a busy half of the run move the median, and what the script
itself takes longer shows in both.

How far a measure can be trusted has two parts. Within a run: its steps drawn again, in blocks as long as neighbours are alike.
Between runs: how far the calmer half of a side's runs lie apart and, as one run cannot show that, an amount granted to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

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
# Of three or four runs, the level of the calmer ones has a standard error of about 0.7 of the distance from median to least.
_TWO_ERRORS = 1.5


@dataclass(frozen=True)
class Move:
    """How one measure changed from one side to the other; everything as a share of the side before.

    Args:
        ratio: After over before, less one.
        low: Lower end of the interval of `ratio`, from the steps drawn again.
        high: Upper end.
        floor: How much of `ratio` may differ between equal runs.
    """

    ratio: float
    low: float
    high: float
    floor: float

    @property
    def grown(self) -> bool:
        """Whether this much more cannot be the steps' own spread, nor what differs between equal runs."""
        return self.ratio > self.floor and self.low > 0

    @property
    def shrunk(self) -> bool:
        """The same for less."""
        return self.ratio < -self.floor and self.high < 0

    @property
    def still(self) -> bool:
        """Whether it is known not to have moved by more than twice what differs between equal runs."""
        return abs(self.ratio) <= self.floor and -2 * self.floor <= self.low and self.high <= 2 * self.floor


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
    for measure in (fastest, middle):
        draws = _level(drawn_second, measure) / _level(drawn_first, measure) - 1
        ratio = float(_level(second, measure) / _level(first, measure)) - 1
        low, high = (float(np.quantile(draws, end)) for end in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
        floor = sqrt(_unrest(first, measure) + _unrest(second, measure))
        found.append(Move(ratio, low, high, floor))
    return found[0], found[1]


def _level(runs: Sequence[Float64Array], measure: Measure) -> Float64Array:
    return np.asarray(np.quantile([measure(run) for run in runs], _CALM, axis=0))


def _unrest(runs: Sequence[Float64Array], measure: Measure) -> float:
    """Square of the share by which the level of a side may be off.

    Where the fastest steps of one run do not agree among themselves, none of them was left alone, and that run says little
    of the next.
    """
    levels = np.array([measure(run) for run in runs])
    between = float((np.median(levels) - levels.min()) / np.quantile(levels, _CALM))
    edges = [float(np.quantile(run, 0.25) / np.quantile(run, 0.05)) - 1 for run in runs]
    granted = (RUN_TO_RUN**2 + float(np.quantile(edges, _CALM)) ** 2) / 2
    return granted / len(runs) + (_TWO_ERRORS * between) ** 2


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
