"""What is copied to the host in the steps that pause, and in no other: as the state of a model before it is written to a file."""

from __future__ import annotations

import numpy as np

from analyzer.facts.steps.find import Steps
from analyzer.facts.transfer.copies import Copies
from analyzer.spans.grouping import sums_by
from analyzer.spans.intervals import IntervalSet

# A state consists of many tensors, and is larger than what steps read for their logs.
_MIN_COPIES = 8
_MIN_BYTES = 64 << 20
_TIMES = 10


def state_out_bytes(steps: Steps, out: Copies, pauses: IntervalSet) -> int | None:
    """Bytes copied to the host in the steps with a pause; None where one of them copies no more than the others, or little.

    Args:
        steps: The steps.
        out: Copies to the host.
        pauses: Stretches of the used steps.
    """
    used = steps.used
    paused = pauses.overlap_with(used["start_ns"].to_numpy(), used["end_ns"].to_numpy()) > 0
    if not paused.any() or paused.all() or len(out) < _MIN_COPIES:
        return None
    step = steps.of_device(out.frame["start_ns"].to_numpy())
    sizes = out.frame["size_bytes"].fillna(0).to_numpy(dtype=np.int64)
    counts, sums = sums_by(step[step >= 0], sizes[step >= 0], len(used))
    usual = float(np.median(sums[~paused]))
    enough = (sums >= max(_MIN_BYTES, _TIMES * usual)) & (counts >= _MIN_COPIES)
    return int(sums[paused].sum()) if enough[paused].all() else None
