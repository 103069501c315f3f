"""What one rank does alone in every so many steps: a checkpoint, an evaluation, a log that is written.

In few steps of all, and by one of two ranks, that may be chance. That they lie equally far apart, through the whole recording,
seldom is: both together tell.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from analyzer.spans.arrays import BoolArray, FloatArray

# Two of anything are equally far apart.
_FEWEST = 3
# Late by at least this part of the most that any rank is late by: the same thing again, and no noise beside it.
_ALIKE_RATIO = 0.5
# So much of what the rank does beyond its peers lies in these steps, or there is something else besides.
_MOST_RATIO = 0.8


class Regular(msgspec.Struct, frozen=True):
    """One rank is late `times` times, in each `every`th step; by chance that is `chance_ratio` likely at most."""

    every: int
    times: int
    chance_ratio: float


def late_regularly(excess_ns: FloatArray, place: int) -> Regular | None:
    """Whether a rank is late in every so many steps alone; None where it is not, or in too few to tell.

    Args:
        excess_ns: What peers do beyond one another in steps that follow one another, NaN where unknown, shape (peers, steps).
        place: Which of the peers.
    """
    excess = np.nan_to_num(excess_ns, nan=0.0)
    large = excess >= _ALIKE_RATIO * max(float(excess.max(initial=0.0)), 1.0)
    mine = np.flatnonzero(large[place])
    times, steps = len(mine), excess.shape[1]
    if times < _FEWEST or int(large.sum()) > times:
        # A pause that goes round comes to each rank in every so many steps.
        return None
    every = int(mine[1] - mine[0])
    throughout = int(mine[0]) < every and int(mine[-1]) + every >= steps
    if every < 2 or not throughout or bool((np.diff(mine) != every).any()):
        return None
    beyond = np.maximum(excess[place], 0.0)
    if float(beyond[mine].sum()) < _MOST_RATIO * float(beyond.sum()):
        return None
    apart = sum(_starts(steps, times, one) for one in range(1, steps)) / math.comb(steps, times)
    return Regular(every, times, min(chance(large, times) * apart, 1.0))


def _starts(steps: int, times: int, every: int) -> int:
    """In how many ways so many steps can be that far apart, with no room for one more in front or behind."""
    return max(min(every, steps - (times - 1) * every) - max(0, steps - times * every), 0)


def chance(late: BoolArray, mine: int) -> float:
    """How likely it is that of all late steps some rank has so many by chance, at most.

    Args:
        late: Which peers are late in which steps, shape (peers, steps).
        mine: How many of them are one rank's.
    """
    every, share = int(late.sum()), 1 / len(late)
    tail = sum(math.comb(every, n) * share**n * (1 - share) ** (every - n) for n in range(mine, every + 1))
    return min(len(late) * tail, 1.0)
