"""Which step a moment lies in: the one answer for steps found already, and for those that are still being told apart.

Steps are half-open: the moment at which one ends is in the next.
"""

from __future__ import annotations

import numpy as np

from analyzer.spans.arrays import Int64Array


def position_of(at_ns: Int64Array, start_ns: Int64Array, end_ns: Int64Array) -> Int64Array:
    """The position of the step that each moment lies in, -1 for none; shape of `at_ns`.

    Args:
        at_ns: Moments, in any order.
        start_ns: Start of each step, sorted, shape (steps,).
        end_ns: End of each step, same shape; no step ends after the next one starts.
    """
    if not len(start_ns):
        return np.full(len(at_ns), -1)
    step = np.searchsorted(start_ns, at_ns, side="right") - 1
    return np.where((step >= 0) & (at_ns < end_ns[step]), step, -1)


def counts(at_ns: Int64Array, start_ns: Int64Array, end_ns: Int64Array) -> Int64Array:
    """How many moments lie in each step, shape (steps,).

    Args:
        at_ns: Moments, in any order.
        start_ns: Start of each step, sorted.
        end_ns: End of each step; none ends after the next one starts.
    """
    step = position_of(at_ns, start_ns, end_ns)
    return np.bincount(step[step >= 0], minlength=len(start_ns))


def slices(at_ns: Int64Array, start_ns: Int64Array, end_ns: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Where in sorted moments those of each step begin, and where they end; shape (steps,) both.

    Args:
        at_ns: Moments, sorted.
        start_ns: Start of each step.
        end_ns: End of each step.
    """
    return np.searchsorted(at_ns, start_ns, side="left"), np.searchsorted(at_ns, end_ns, side="left")
