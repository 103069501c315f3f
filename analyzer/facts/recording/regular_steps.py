"""Steps that take longer than the others at regular distances, though not three times as long: a save or a log every so often."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.spans.arrays import FloatArray

# Closer than this they are half of what the loop does; and so many have to be there to come regularly.
_CLOSEST = 4
_FEWEST = 6
# Each of them takes longer than so many of the others. Of 256 steps without a rhythm one in a hundred runs shows one by chance.
_LONGER_THAN = 0.85
# What they take more than the others, as a share of the median step.
_MORE_RATIO = 0.25


class RegularSteps(msgspec.Struct, frozen=True):
    """Steps of a run that come regularly and take longer.

    Args:
        every: One in so many steps.
        more_ns: What one of them takes longer than the others, the median.
    """

    every: int
    more_ns: int


def regular_steps(numbers: FloatArray, lasting_ns: FloatArray) -> RegularSteps | None:
    """Looks for the smallest distance at which steps take longer; None where there is none.

    Args:
        numbers: Of the steps whose length is known, sorted, shape (steps,).
        lasting_ns: How long each takes.
    """
    if len(numbers) < _CLOSEST * _FEWEST:
        return None
    median = float(np.median(lasting_ns))
    for every in range(_CLOSEST, len(numbers) // _FEWEST + 1):
        for place in range(every):
            mine = numbers % every == place
            if mine.sum() < _FEWEST:
                continue
            others = lasting_ns[~mine]
            more = float(np.median(lasting_ns[mine]) - np.median(others))
            if lasting_ns[mine].min() > np.quantile(others, _LONGER_THAN) and more >= _MORE_RATIO * median:
                return RegularSteps(every, round(more))
    return None
