"""Threads that go their own ways, as a server's workers: the work of one comes when it comes, whatever others wait for."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import from_source
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet

_NONE: Int64Array = np.empty(0, dtype=np.int64)
# A thread that another one drives, as the engine of autograd or a replica's, has nothing to do while that one waits for the device.
_MIN_BESIDE = 0.05


class WorkApart(msgspec.Struct, frozen=True):
    """Work of the device by threads that go their own ways.

    Args:
        start_ns: When the device begins each piece, sorted.
        thread: Who launched it.
    """

    start_ns: Int64Array = _NONE
    thread: Int64Array = _NONE

    def of_others(self, thread: int) -> Int64Array:
        """When the device begins what others than a thread launched, sorted."""
        begun: Int64Array = self.start_ns[self.thread != thread]
        return begun


def work_apart(launched: pd.DataFrame, device: int, waits: pd.DataFrame, engine: Int64Array) -> WorkApart:
    """Finds the threads that launch kernels and wait for the device themselves, or launch while another one waits.

    A thread cannot do both at a time: it is another one that waits.

    Args:
        launched: Work of the devices with its launches, from `launches`.
        device: The device.
        waits: Calls that wait for a device, with columns thread, start_ns and end_ns.
        engine: The threads that run backward passes for others.
    """
    mine = launched["device"].to_numpy() == device
    thread, at = launched["launch_thread"].to_numpy().astype(np.int64), launched["launch_start_ns"].to_numpy()
    # One that only copies serves another: it brings a program's batches, or writes its checkpoints.
    kernels = np.flatnonzero(mine & from_source(launched, "kernels"))
    every, place = np.unique(thread[kernels], return_inverse=True)
    if len(every) < 2:
        return WorkApart()
    beside = np.bincount(place, weights=IntervalSet.of_rows(waits).contains(at[kernels]))
    apart = every[
        (beside >= _MIN_BESIDE * np.bincount(place))
        | (np.isin(every, waits["thread"].to_numpy()) & ~np.isin(every, engine))
    ]
    some = np.flatnonzero(mine & np.isin(thread, apart))
    start = launched["start_ns"].to_numpy()[some]
    order = np.argsort(start, kind="stable")
    return WorkApart(start[order], thread[some][order])
