"""The last of some moments before others."""

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
