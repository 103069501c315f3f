"""Whether the same kernels take longer later in the recording: heat, a limit of power, or somebody else on the device.

Only steps that launch the same kernels in the same order are compared, each kernel with the one at its place: the work is the same
as far as names and grids tell it.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.kernels.find import Kernels
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.labels import codes_of


class Slowing(msgspec.Struct, frozen=True, eq=False):
    """The first and the last third of the steps that launch the same kernels.

    Args:
        kernels: Those of these steps, collectives left out; shape (kernels,).
        step_ns: Their time in each of these steps, by step; shape (steps,).
        ratio: By what share the last third takes longer than the first; None with fewer than six steps or without kernels.
        slower_ratio: Share of their time in kernels that are themselves slower, by at least half of that.
        lost_ns: Time beyond that of the first third, all these steps.
    """

    kernels: BoolArray
    step_ns: FloatArray
    ratio: float | None
    slower_ratio: float
    lost_ns: float

    @property
    def apart(self) -> bool:
        """Whether every step of the last third takes longer than every step of the first."""
        third = len(self.step_ns) // 3
        return bool(third) and bool(self.step_ns[-third:].min() > self.step_ns[:third].max())


def slowing(kernels: Kernels, steps: Steps) -> Slowing:
    """Compares the steps with the most frequent sequence of kernels."""
    frame = kernels.frame
    rows = np.flatnonzero(present(frame["launch_start_ns"]) & ~frame["collective"].to_numpy())
    launched = frame["launch_start_ns"].to_numpy()[rows]
    # Those of a graph are launched at once.
    rows = rows[np.lexsort((frame["start_ns"].to_numpy()[rows], launched))]
    at = frame["launch_start_ns"].to_numpy()[rows].astype(np.int64)
    low, high = steps.host_slices(at)
    told = _told(frame)[rows]
    sequences = [told[first:last].tobytes() for first, last in zip(low.tolist(), high.tolist(), strict=True)]
    most = _most(sequences)
    same = [place for place, one in enumerate(sequences) if one == most and one]
    used = np.zeros(len(frame), dtype=bool)
    if len(same) < 6:
        return Slowing(used, np.empty(0), None, 0.0, 0.0)
    mine = np.stack([rows[low[place] : high[place]] for place in same])
    used[mine.ravel()] = True
    return _compared(used, frame["dur_ns"].to_numpy()[mine].astype(np.float64))


def _told(frame: pd.DataFrame) -> Int64Array:
    """Name and grid of each kernel as numbers, shape (kernels, 2): the bytes of two steps compare quickly."""
    blocks = np.nan_to_num(frame["blocks_per_sm"].to_numpy() * 100, nan=-1).astype(np.int64)
    return np.column_stack([codes_of(frame["name"]).astype(np.int64), blocks])


def _most(sequences: list[bytes]) -> bytes:
    counts: dict[bytes, int] = {}
    for one in sequences:
        counts[one] = counts.get(one, 0) + 1
    return max(counts, key=lambda one: counts[one], default=b"")


def _compared(used: BoolArray, times: FloatArray) -> Slowing:
    """Compares thirds of a table of durations, shape (steps, kernels)."""
    third = len(times) // 3
    totals = times.sum(axis=1)
    first, last = np.median(times[:third], axis=0), np.median(times[-third:], axis=0)
    before = float(totals[:third].mean())
    if not before:
        return Slowing(used, totals, None, 0.0, 0.0)
    ratio = float(totals[-third:].mean()) / before - 1
    slower = last > first * (1 + ratio / 2)
    return Slowing(
        used,
        totals,
        ratio,
        float(first[slower].sum() / max(first.sum(), 1.0)),
        float(np.maximum(totals - before, 0).sum()),
    )
