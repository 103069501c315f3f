"""Kernels that take longer while a collective runs: both use the multiprocessors and the memory."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.kernels.find import Kernels
from analyzer.spans.arrays import BoolArray
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of
from traces.trace import Trace

# Of a kernel's time inside collectives; what lies between tells nothing.
_BESIDE, _ALONE = 0.9, 0.02
_LEAST = 3
# The middle half of the times alone may differ by this much, or one name stands for several kinds of work.
_MOST_SPREAD = 1.3


class Slowed(msgspec.Struct, frozen=True, eq=False):
    """Kernels beside collectives against the same kernels alone.

    Args:
        kernels: Kernels beside a collective whose like runs alone as well; shape (kernels,).
        alone_ns: What they would take alone.
        lost_ns: What they take longer, all of them together.
        shapes_known: Whether the inputs of kernels are known at all: without, two products of one name may be any two.
    """

    kernels: BoolArray
    alone_ns: float
    lost_ns: float
    shapes_known: bool


def slowed(trace: Trace, kernels: Kernels, collective: IntervalSet) -> Slowed:
    """Compares kernels of the same name, grid, op and input shapes."""
    frame = kernels.frame
    op = frame["op"].to_numpy()
    # With a last entry for kernels without an op.
    dims = np.append(codes_of(trace.ops["input_dims"]).astype(np.int64), -1)[op]
    known = (op >= 0) & (dims >= 0) & ~frame["collective"].to_numpy()
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    ratio = collective.overlap_with(start, end) / np.maximum(end - start, 1)
    rows = np.flatnonzero(known & ((ratio >= _BESIDE) | (ratio <= _ALONE)))
    table = pd.DataFrame(
        {
            "name": codes_of(frame["name"])[rows].astype(np.int64),
            "blocks": np.nan_to_num(frame["blocks_per_sm"].to_numpy()[rows], nan=-1.0),
            "op": np.append(codes_of(trace.ops["name"]).astype(np.int64), -1)[op[rows]],
            "dims": dims[rows],
            "beside": ratio[rows] >= _BESIDE,
            "dur": frame["dur_ns"].to_numpy()[rows].astype(np.float64),
        }
    )
    # Most kernels never run beside a collective, and quartiles of all of them would be for nothing.
    names = table["name"].to_numpy()
    table = table[np.isin(names, names[table["beside"].to_numpy()])]
    if not (table["beside"].any() and not table["beside"].all()):
        return Slowed(np.zeros(len(frame), dtype=bool), 0.0, 0.0, shapes_known=bool(known.any()))
    keys = ["name", "blocks", "op", "dims"]
    groups = table[~table["beside"]].groupby(keys)["dur"]
    # All groups at once: `describe` asks pandas group by group, a millisecond each.
    low, middle, high = (groups.quantile(part) for part in (0.25, 0.5, 0.75))
    fits = middle[(groups.size() >= _LEAST) & (high <= _MOST_SPREAD * low)]
    beside = table[table["beside"]].join(fits.rename("alone"), on=keys, how="inner")
    often = beside.groupby(keys)["dur"].transform("size") >= _LEAST if len(beside) else np.empty(0, dtype=bool)
    beside = beside[often]
    mine = np.zeros(len(frame), dtype=bool)
    mine[rows[beside.index.to_numpy()]] = True
    return Slowed(
        kernels=mine,
        alone_ns=float(beside["alone"].sum()),
        lost_ns=float((beside["dur"] - beside["alone"]).sum()),
        shapes_known=bool(known.any()),
    )
