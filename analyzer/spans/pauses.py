"""Pauses between ops that a loop calls in a row: what the program does in a long one is work of its own, and not calling ops."""

from __future__ import annotations

import numpy as np

from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet

# So long no op is called from Python for lack of speed: calling one takes some microseconds, a tenth of a millisecond through
# tensor subclasses. What the program does meanwhile (an image decoded, a file read) is work of its own.
_PAUSE_NS = 1_000_000


def long_pauses(start_ns: Int64Array, end_ns: Int64Array, first: Int64Array, length: Int64Array) -> IntervalSet:
    """Where between two ops of a run nothing of it begins for long.

    Args:
        start_ns: When each op begins, in order within its run.
        end_ns: When it ends.
        first: The first op of each run.
        length: How many ops the run has.
    """
    edges = np.zeros(len(start_ns) + 1, dtype=np.int64)
    np.add.at(edges, first, 1)
    np.add.at(edges, first + length - 1, -1)
    followed = np.cumsum(edges)[: len(start_ns) - 1] > 0
    long = followed & (start_ns[1:] - end_ns[:-1] > _PAUSE_NS)
    return IntervalSet(end_ns[:-1][long], start_ns[1:][long])
