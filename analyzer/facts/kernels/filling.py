"""How full the device as a whole is while kernels compute: kernels that run side by side fill it together.

Blocks per multiprocessor of one kernel say how many of the multiprocessors it could use alone; what the device has to do at a
moment are the blocks of all kernels that run then, those of collectives included.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from analyzer.facts.kernels.find import Kernels
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import distinct
from analyzer.spans.intervals import IntervalSet

# Blocks per multiprocessor are added up in millionths: sums of floats would leave remainders.
_MILLION = 1_000_000


class Filling(msgspec.Struct, frozen=True):
    """Stretches of the used steps in which the running kernels stay the same and at least one of them computes.

    Args:
        start_ns: Begin of each stretch, shape (stretches,).
        end_ns: End of each.
        filled_ratio: Blocks per multiprocessor of all kernels that state theirs together, at most 1 for the whole device.
        known: Whether every kernel of the stretch states them.
    """

    start_ns: Int64Array
    end_ns: Int64Array
    filled_ratio: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]

    def underused(self, max_filled_ratio: float) -> IntervalSet:
        """When all kernels together are known to have blocks for less than this share of the multiprocessors."""
        rows = self.known & (self.filled_ratio < max_filled_ratio)
        return IntervalSet(self.start_ns[rows], self.end_ns[rows])

    def unknown(self, max_filled_ratio: float) -> IntervalSet:
        """When those that state their blocks have too few, and others run that state none."""
        rows = ~self.known & (self.filled_ratio < max_filled_ratio)
        return IntervalSet(self.start_ns[rows], self.end_ns[rows])

    def empty_ns(self, max_filled_ratio: float) -> float:
        """The underused time, each nanosecond counted by the share of the multiprocessors that stands empty in it."""
        rows = self.known & (self.filled_ratio < max_filled_ratio)
        return float(((self.end_ns - self.start_ns)[rows] * (1 - self.filled_ratio[rows])).sum())


def filling(kernels: Kernels) -> Filling:
    """Measures how full the device is, by a sweep over the begins and ends of its kernels."""
    frame = kernels.frame
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    if kernels.window:
        # A kernel begins inside a used step, but may outlast the last one.
        end = np.minimum(end, kernels.window.end_ns[-1])
    blocks = frame["blocks_per_sm"].to_numpy()
    stated = ~np.isnan(blocks)
    weight = np.where(stated, np.rint(np.clip(np.nan_to_num(blocks), 0, 1) * _MILLION), 0).astype(np.int64)
    ends = np.concatenate([start, end])
    edges = distinct(ends)
    place = np.searchsorted(edges, ends)
    computing = (~frame["collective"].to_numpy(dtype=bool)).astype(np.int64)
    running = (_sums(place, values, len(edges)) for values in (weight, (~stated).astype(np.int64), computing))
    filled, without, computes = running
    keep = computes > 0
    return Filling(
        start_ns=edges[:-1][keep],
        end_ns=edges[1:][keep],
        filled_ratio=np.minimum(filled[keep], _MILLION) / _MILLION,
        known=without[keep] == 0,
    )


def _sums(place: Int64Array, values: Int64Array, edges: int) -> Int64Array:
    """What the kernels that run from each edge to the next add up to, shape (edges - 1,).

    Args:
        place: Edge at which each kernel begins, then edge at which each ends, shape (2 * kernels,).
        values: What each kernel adds, shape (kernels,).
        edges: Number of edges.
    """
    change = np.zeros(edges, dtype=np.int64)
    np.add.at(change, place, np.concatenate([values, -values]))
    result: Int64Array = np.cumsum(change)[: max(edges - 1, 0)]
    return result
