"""Calls that a trace holds twice: once by the runtime that was called, once by the driver that it called.

XPU records both (`urEnqueueKernelLaunch` around `zeCommandListAppendLaunchKernel`), each with a correlation of its own, of which
only one is the device work's. Counted as two launches, half of them would seem to have lost their kernel.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

# What one call of the program may be recorded as, outside and inside.
_KINDS = ("launch", "memcpy", "memset", "sync")


def single_calls(runtime: pd.DataFrame, linked: npt.NDArray[np.bool_]) -> pd.DataFrame:
    """The runtime frame, in which of a call and the call of the same kind inside it only one keeps its kind.

    The other becomes `other`: the inner one, unless it alone belongs to device work.

    Args:
        runtime: Calls, sorted by start, the longer first.
        linked: Whether device work states the call's correlation, shape (n,).
    """
    changed = np.zeros(len(runtime), dtype=bool)
    kinds = runtime["kind"].astype("str").to_numpy()
    for kind in _KINDS:
        rows = np.flatnonzero(kinds == kind)
        if len(rows):
            inner, outer = _nested(runtime.iloc[rows])
            gives_way = linked[rows[inner]] & ~linked[rows[outer]]
            changed[rows[np.where(gives_way, outer, inner)]] = True
    if not changed.any():
        return runtime
    return runtime.assign(kind=runtime["kind"].mask(changed, "other"))


def _nested(calls: pd.DataFrame) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Positions of calls that lie inside the call before them on their thread, and of those calls."""
    position = np.arange(len(calls), dtype=np.int64)
    before = calls.assign(position=position).groupby("thread", sort=False)[["end_ns", "position"]].shift(1)
    inner = position[(calls["end_ns"] <= before["end_ns"]).to_numpy()]
    return inner, before["position"].to_numpy()[inner].astype(np.int64)
