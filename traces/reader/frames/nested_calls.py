"""Calls that a trace holds twice: once by the runtime that was called, once by the driver that it called.

XPU records both (`urEnqueueKernelLaunch` around `zeCommandListAppendLaunchKernel`), each with a correlation of its own, of which
only one is the device work's. Counted as two launches, half of them would seem to have lost their kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

# What one call of the program may be recorded as, outside and inside.
_KINDS = ("launch", "memcpy", "memset", "sync")


def single_calls(runtime: pd.DataFrame, device_work: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The runtime frame, in which of a call and the call of the same kind inside it only one keeps its kind.

    The other becomes `other`: the inner one, unless it alone belongs to device work.

    Args:
        runtime: Calls, sorted by start, the longer first.
        device_work: Frames whose correlation names the call that caused each of their rows.
    """
    changed = np.zeros(len(runtime), dtype=bool)
    linked: npt.NDArray[np.bool_] | None = None
    kinds, codes = runtime["kind"].cat.categories.tolist(), runtime["kind"].cat.codes.to_numpy()
    thread, end = runtime["thread"].to_numpy(), runtime["end_ns"].to_numpy()
    for kind in _KINDS:
        rows = np.flatnonzero(codes == kinds.index(kind))
        inner, outer = _nested(rows, thread[rows], end[rows])
        if len(inner):
            linked = _linked(runtime, device_work) if linked is None else linked
            gives_way = linked[inner] & ~linked[outer]
            changed[np.where(gives_way, outer, inner)] = True
    if not changed.any():
        return runtime
    return runtime.assign(kind=runtime["kind"].mask(changed, "other"))


def _linked(runtime: pd.DataFrame, device_work: Sequence[pd.DataFrame]) -> npt.NDArray[np.bool_]:
    """Whether device work states a call's correlation, per call."""
    stated = pd.concat([frame["correlation"].dropna() for frame in device_work])
    return runtime["correlation"].isin(stated).to_numpy(dtype=bool)


def _nested(
    rows: npt.NDArray[np.int64], thread: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of calls sorted by start those that lie inside the call before them on their thread, and these calls."""
    order = np.argsort(thread, kind="stable")
    before, after = order[:-1], order[1:]
    inside = (thread[after] == thread[before]) & (end[after] <= end[before])
    return rows[after[inside]], rows[before[inside]]
