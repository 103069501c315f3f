"""What spans usually take: a few that stood still for want of a core say nothing about the others."""

from __future__ import annotations

import numpy as np

from analyzer.spans.arrays import Int64Array

# The longest tenth of a kind counts as the longest of the others.
_NINE_IN_TEN = 0.9


def usual_ns(kind: Int64Array, dur_ns: Int64Array) -> float:
    """Mean time, of each kind the longest tenth counted as the longest of the others; 0 without any.

    Args:
        kind: What each is, shape (n,).
        dur_ns: How long each takes, shape (n,).
    """
    if not len(kind):
        return 0.0
    order = np.lexsort((dur_ns, kind))
    kind, dur = kind[order], dur_ns[order]
    first = np.flatnonzero(np.concatenate([[True], kind[1:] != kind[:-1]]))
    size = np.diff(np.append(first, len(kind)))
    most = dur[first + np.floor(_NINE_IN_TEN * (size - 1)).astype(np.int64)]
    return float(np.minimum(dur, np.repeat(most, size)).mean())
