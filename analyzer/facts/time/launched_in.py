"""What some work of the host gives the device to do: the kernels that it launches."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import from_source
from analyzer.spans.intervals import EMPTY, IntervalSet


class LaunchedIn(msgspec.Struct, frozen=True):
    """Kernels whose launch begins inside some spans of the host.

    Args:
        total_ns: How long they run, each for itself.
        spans: When any of them runs.
        extent: From the start of the first kernel of each span to the end of its last.
        number: How many they are.
    """

    total_ns: int = 0
    spans: IntervalSet = EMPTY
    extent: IntervalSet = EMPTY
    number: int = 0


def launched_in(launched: pd.DataFrame, spans: IntervalSet) -> LaunchedIn:
    """Finds the kernels of some spans.

    Args:
        launched: Work of the device with its launch calls, from `launches`.
        spans: When the host does the work.
    """
    at = launched["launch_start_ns"].to_numpy()
    rows = np.flatnonzero(from_source(launched, "kernels") & spans.contains(at))
    if not len(rows):
        return LaunchedIn()
    start, end = launched["start_ns"].to_numpy()[rows], launched["end_ns"].to_numpy()[rows]
    span = np.searchsorted(spans.start_ns, at[rows], side="right") - 1
    first = np.full(len(spans), np.iinfo(np.int64).max)
    last = np.zeros(len(spans), dtype=np.int64)
    np.minimum.at(first, span, start)
    np.maximum.at(last, span, end)
    some = last > 0
    return LaunchedIn(
        int((end - start).sum()), IntervalSet(start, end), IntervalSet(first[some], last[some]), len(rows)
    )
