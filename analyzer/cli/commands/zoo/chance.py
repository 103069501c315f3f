"""What chance does to the zoo's two figures: a bound from a few recorded steps, and a gain from a few stretches of timing.

Both are means of few values, so that each has a standard error. A gain is beyond a bound where it is so by more than chance does in
one of a hundred: Student's t of both errors together (Welch).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzer.explain import Explained
from analyzer.finding import Saving

# Student's t that 99 % of values are below, by degrees of freedom.
_STUDENT_T = {
    1: 31.82,
    2: 6.965,
    3: 4.541,
    4: 3.747,
    5: 3.365,
    6: 3.143,
    8: 2.896,
    12: 2.681,
    24: 2.492,
    math.inf: 2.326,
}
# Standard deviations in a median absolute deviation, and standard errors of a mean in one of a median, of normal numbers.
_DEVIATIONS, _OF_MEDIAN = 1.4826, 1.2533

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A figure from few values.

    Args:
        value: The figure.
        error: Its standard error; 0 where nothing tells.
        freedom: Degrees of freedom of the error; at least 1.
    """

    value: float
    error: float = 0.0
    freedom: float = 1.0


def mean_of(values: Sequence[float]) -> Estimate:
    """The mean, and how well so many values know it."""
    found = np.asarray(values, dtype=np.float64)
    if len(found) < 2:
        return Estimate(float(found.mean()))
    return Estimate(float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found))), len(found) - 1)


def noise_of(first: Estimate, second: Estimate) -> float:
    """How far two figures of the same thing are apart by chance, one way, in 99 of 100 cases."""
    squares = first.error**2, second.error**2
    if not sum(squares):
        return 0.0
    freedom = sum(squares) ** 2 / (squares[0] ** 2 / first.freedom + squares[1] ** 2 / second.freedom)
    return student_t(freedom) * math.sqrt(sum(squares))


def student_t(freedom: float) -> float:
    """99 % quantile of Student's t; between the degrees of freedom of the table a little too large.

    Args:
        freedom: At least 1; a fraction where errors were put together.
    """
    return float(np.interp(-1 / freedom, [-1 / known for known in _STUDENT_T], list(_STUDENT_T.values())))


def bound_of(ratio: float, explained: Explained, saving: Saving, period: int, unprofiled_steps: int) -> Estimate:
    """A bound with its error, from how what it saves and the rest are spread over the recorded steps.

    Args:
        ratio: The bound as the report states it: a share of the step without the profiler, at most.
        explained: What was measured.
        saving: What the finding claims.
        period: Steps after which what was planted comes again: whole periods are compared, not steps.
        unprofiled_steps: How many steps were timed without the profiler.
    """
    facts = explained.facts
    if facts is None or not len(facts.steps.used):
        return Estimate(ratio)
    used = facts.steps.used
    taken = used["dur_ns"].to_numpy(dtype=np.float64)
    claimed = saving.claims.overlap_with(used["start_ns"], used["end_ns"]).astype(np.float64)
    saved: Floats = claimed + saving.kernel_ns / len(used)
    added = facts.recording.collected.profiler_ns
    spread = _DEVIATIONS * float(np.median(np.abs(taken - np.median(taken))))
    added_error = _OF_MEDIAN * spread * math.sqrt(1 / len(taken) + 1 / unprofiled_steps) if added is not None else 0.0
    return share_of(ratio, _sums(saved, period), _sums(taken, period) - period * (added or 0), period * added_error)


def share_of(ratio: float, saved: Floats, taken: Floats, taken_error: float) -> Estimate:
    """A share with the error of a quotient of two means.

    Args:
        ratio: The share.
        saved: What is saved, shape (n,).
        taken: Of what, shape (n,).
        taken_error: Standard error of what was taken from all of `taken` alike.
    """
    if len(taken) < 2 or taken.mean() <= 0:
        return Estimate(ratio)
    left = saved - ratio * taken
    error = math.hypot(float(left.std(ddof=1)) / math.sqrt(len(left)), ratio * taken_error) / float(taken.mean())
    return Estimate(ratio, error, len(left) - 1)


def _sums(values: Floats, period: int) -> Floats:
    """Sums of whole periods."""
    whole = len(values) // period * period
    sums: Floats = values[:whole].reshape(-1, period).sum(axis=1)
    return sums
