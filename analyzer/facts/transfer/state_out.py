"""What is copied to the host in some steps, and in no other: as the state of a model before it is written to a file."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.device.launches import from_source
from analyzer.facts.steps.find import Steps
from analyzer.facts.steps.index import counts, position_of
from analyzer.facts.transfer.copies import Copies
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import sums_by
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from traces.trace import Trace

# A state consists of many tensors, and is larger than what steps read for their logs.
_MIN_COPIES = 8
_MIN_BYTES = 64 << 20
_TIMES = 10
# An evaluation, or a rollout, copies answers as well, and runs its model for them.
_SAME_KERNELS = 1.5


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
    return _state_bytes(counts, sums, usual, paused)


def state_beside_bytes(trace: Trace, launched: pd.DataFrame, steps: Steps, others: BoolArray) -> int | None:
    """Bytes copied to the host in steps left out of the figures; None where one of them copies little or computes more.

    Args:
        trace: The trace.
        launched: Work of the devices with its launches, from `launches`.
        steps: The steps.
        others: Which of all steps are asked about, shape (steps,).
    """
    usual = steps.frame["used"].to_numpy(dtype=bool)
    if not others.any() or not usual.any():
        return None
    start, end = (steps.frame[name].to_numpy() for name in ("host_start_ns", "host_end_ns"))
    at, row = launched["launch_start_ns"].to_numpy(), launched["row"].to_numpy()
    kernels = counts(at[from_source(launched, "kernels")], start, end)
    if (kernels[others] > _SAME_KERNELS * np.median(kernels[usual])).any():
        return None
    copies = from_source(launched, "copies")
    copies[copies] = is_any(trace.copies["direction"], "DtoH")[row[copies]]
    step = position_of(at[copies], start, end)
    sizes = trace.copies["size_bytes"].fillna(0).to_numpy(dtype=np.int64)[row[copies]]
    number, sums = sums_by(step[step >= 0], sizes[step >= 0], len(start))
    return _state_bytes(number, sums, float(np.median(sums[usual])), others)


def _state_bytes(copies: Int64Array, sums: Int64Array, usual_bytes: float, asked: BoolArray) -> int | None:
    """Bytes of the steps asked about, where each of them copies as much as a state; else None."""
    enough = (sums >= max(_MIN_BYTES, _TIMES * usual_bytes)) & (copies >= _MIN_COPIES)
    return int(sums[asked].sum()) if enough[asked].all() else None
