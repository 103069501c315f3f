"""Calls of the loader behind the start of its workers, while the queue fills for the first time.

Batches come in the order of their workers: each call waits until one more worker has started, and spawned ones import the program.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.restarts import Restarts
from analyzer.facts.input.wait_pattern import WaitPattern
from analyzer.spans.arrays import Int64Array

# Batches that a loader asks of each worker in advance unless it is told otherwise.
_PREFETCH = 2


def filling(pattern: WaitPattern, restarts: Restarts, workers: int | None) -> Int64Array:
    """Positions of these calls: as many as are asked for in advance, and none beyond the end of the epoch.

    Args:
        pattern: The calls that neither end an epoch nor begin one.
        restarts: The starts in the used steps.
        workers: How many are started; None where that is not known.
    """
    if not len(restarts):
        return np.empty(0, dtype=np.int64)
    # The call that waits for the first batch is none of these.
    return pattern.following(restarts.first[:, 1], restarts.epoch_end_ns, _PREFETCH * (workers or 1))
