"""Stretches of rows, one after the other, of which something holds."""

from __future__ import annotations

import numpy as np

from analyzer.spans.arrays import BoolArray, Int64Array


def stretches(holds: BoolArray) -> tuple[Int64Array, Int64Array]:
    """The first row of each stretch, and the row behind its last one; shape (stretches,) both, in order.

    Args:
        holds: Of which rows it holds, shape (rows,).
    """
    edges = np.diff(holds.astype(np.int8), prepend=0, append=0)
    return np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
