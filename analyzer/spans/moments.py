"""Moments beside others: the last before a time, and how many lie in a span."""

from __future__ import annotations

from typing import Literal

import numpy as np

from analyzer.spans.arrays import Int64Array


def last_before(moments: Int64Array, at: Int64Array, side: Literal["left", "right"] = "left") -> Int64Array:
    """For each time the last of the moments before it; the least number, before all times, where there is none.

    Args:
        moments: Sorted, shape (n,).
        at: Times, shape (m,).
        side: `right` counts a moment at the time itself as before it, `left` does not.

    Returns:
        Shape (m,).
    """
    found: Int64Array = np.append(np.iinfo(np.int64).min, moments)[np.searchsorted(moments, at, side=side)]
    return found


def moments_in(moments: Int64Array, start_ns: Int64Array, end_ns: Int64Array) -> Int64Array:
    """How many moments lie in each span, shape (spans,); spans are half-open and may overlap.

    Args:
        moments: In any order.
        start_ns: Where each span begins, shape (spans,).
        end_ns: Where it ends.
    """
    at = np.sort(moments)
    return np.searchsorted(at, end_ns) - np.searchsorted(at, start_ns)
