"""The test of Mann and Whitney: does one of two sides tend to be larger?

As `scipy.stats.mannwhitneyu` answers, whose import takes longer than a comparison.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from analyzer.spans.arrays import FloatArray

# Of more values without ties the normal distribution is near enough.
_FEW = 8


class Ranked(msgspec.Struct, frozen=True):
    """What the ranks say.

    Args:
        statistic: U of the first side: pairs in which its value is the larger one, equal ones as a half.
        p_value: Chance of a U so far from the middle, either way, were both sides drawn alike, 0..1.
    """

    statistic: float
    p_value: float


def mann_whitney(first: FloatArray, second: FloatArray, *, exact: bool = False) -> Ranked:
    """The test, exact where there are few values and none of them equal, else by the normal distribution.

    Args:
        first: Values of one side, at least one.
        second: Values of the other, at least one.
        exact: Whether to count orders however many values there are, as if none were equal.
    """
    n, m = len(first), len(second)
    values, place, ties = np.unique(np.concatenate([first, second]), return_inverse=True, return_counts=True)
    # Equal values share the middle one of their ranks.
    rank = (np.cumsum(ties) - (ties - 1) / 2)[place.reshape(-1)]
    statistic = float(rank[:n].sum()) - n * (n + 1) / 2
    larger = max(statistic, n * m - statistic)
    if exact or (min(n, m) <= _FEW and len(values) == n + m):
        one_side = _beyond(int(larger), n, m)
    else:
        unrest = math.sqrt(n * m / 12 * (n + m + 1 - float((ties**3 - ties).sum()) / ((n + m) * (n + m - 1))))
        one_side = math.erfc((larger - n * m / 2 - 0.5) / unrest / math.sqrt(2)) / 2 if unrest else 1.0
    return Ranked(statistic, min(2 * one_side, 1.0))


def _beyond(least: int, n: int, m: int) -> float:
    """Chance of a U of at least so much, of all orders of different values."""
    # As many orders give a U from the top as from the bottom; their numbers are the coefficients of a Gaussian binomial.
    orders = np.zeros(n * m - least + 1)
    orders[0] = 1.0
    few, many = sorted((n, m))
    for step in range(1, few + 1):
        for first in range(min(step, len(orders))):
            orders[first::step] = np.cumsum(orders[first::step])
        if many + step < len(orders):
            orders[many + step :] -= orders[: -(many + step)].copy()
    return float(orders.sum()) / math.comb(n + m, n)
