"""What runs in turns say of a change: its gain with a 95 % interval, from the runs' own unrest.

Runs are compared as logarithms of their mean step: each run with the change against the mean of the two without it around it, so
that what changes slowly on the machine falls out. The unrest of a single run is pooled over what neighbouring runs of the unchanged
script differ by and what the gains differ among themselves (the larger of the two counts); the interval is Student's t.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_CONFIDENCE = 0.95
# Clocks and schedulers alone make changes of this size.
LEAST_NOISE = 0.005


@dataclass(frozen=True)
class Gain:
    """The share of the step that goes, with its 95 % interval; negative where it gets longer."""

    ratio: float
    low: float
    high: float


def unrest(times: Sequence[float]) -> tuple[float, int]:
    """Standard deviation of the logarithm of one run, from neighbours, and its degrees of freedom."""
    steps = [math.log(after / before) for before, after in pairwise(times)]
    if not steps:
        return 0.0, 0
    return math.sqrt(sum(step * step for step in steps) / (2 * len(steps))), len(steps)


def noise_ratio(baseline: Sequence[float], turns: int) -> float:
    """The smallest gain that so many turns tell from nothing, by the runs of the unchanged script alone."""
    spread, freedom = unrest(baseline)
    if not freedom:
        return LEAST_NOISE
    return max(LEAST_NOISE, 1 - math.exp(-_t(freedom) * spread * _weight(turns)))


def gain(baseline: Sequence[float], around: Sequence[tuple[float, float, float]]) -> Gain:
    """The gain of a change.

    Args:
        baseline: Mean steps of all runs of what it is held against, in order.
        around: For each run with the change: the run before it, itself, the run after it.
    """
    logs = [math.log(mine) - (math.log(before) + math.log(after)) / 2 for before, mine, after in around]
    spread, freedom = unrest(baseline)
    if len(logs) > 1:
        own = statistics.stdev(logs) / math.sqrt(1.5)
        spread, freedom = max(spread, own), freedom + len(logs) - 1
    middle = statistics.median(logs)
    half = _t(max(freedom, 1)) * max(spread, LEAST_NOISE / 2) * _weight(len(logs))
    return Gain(1 - math.exp(middle), 1 - math.exp(middle + half), 1 - math.exp(middle - half))


def _weight(turns: int) -> float:
    """Standard error of a gain over so many turns, in single runs; neighbours share the runs between them."""
    return math.sqrt(1 / turns + 1 / (turns + 1))


def _t(freedom: int) -> float:
    # scipy costs 0.3 s to import: only what measures pays.
    from scipy.stats import t

    return float(t.ppf((1 + _CONFIDENCE) / 2, freedom))
