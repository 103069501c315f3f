"""How much of what the device does is setting memory to a value, and which op asks for most of it."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.host.asking import asking, operator_name
from analyzer.facts.host.beside import beside
from analyzer.facts.host.ops import OpTree, pick_row
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, matching
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern

_MOST = 0.5
# torch's kernel for values other than zero, and for tensors with holes.
_FILLS = "FillFunctor"
_ADDS = Pattern(r"aten::add_?$")


class SetMemory(msgspec.Struct, frozen=True):
    """Setting memory to a value, in the used steps.

    Args:
        time: When the device that stands for the trace computes and does so.
        kernels: Which kernels do, of `Kernels.frame`; others are the driver's own (`Memset`).
        asker: The operator that asks for most of it, of the backward pass the node; empty where none does.
        calls: How many there are.
        asking: When the host is in calls of that operator that ask for it.
        summed: The same with the ops right behind that add up what they give: of a gradient that comes from several places.
    """

    time: IntervalSet
    kernels: BoolArray
    asker: str
    calls: int
    asking: IntervalSet
    summed: IntervalSet


def set_memory(memsets: pd.DataFrame, kernels: pd.DataFrame, ops: OpTree, computing: IntervalSet) -> SetMemory:
    """Finds the kernels and the driver's own work that set memory to a value.

    Args:
        memsets: Rows of the device's launched work that are memsets.
        kernels: `Kernels.frame`.
        ops: The ops of the host's threads.
        computing: When the device computes.
    """
    filling = matching(kernels["name"], lambda name: _FILLS in name)
    time = (IntervalSet.of_rows(memsets) | IntervalSet.of_rows(kernels, filling)) & computing
    thread, called = (memsets[name].to_numpy(np.int64) for name in ("launch_thread", "launch_start_ns"))
    inside = computing.contains(memsets["start_ns"].to_numpy())
    asking = np.concatenate([ops.enclosing(thread, called)[inside], kernels["op"].to_numpy(np.int64)[filling]])
    dur = np.concatenate([memsets["dur_ns"].to_numpy(np.int64)[inside], kernels["dur_ns"].to_numpy(np.int64)[filling]])
    asker, calls = _asker(ops, asking, dur)
    root = np.unique(np.append(ops.nearest(ops.depth == 0), NONE)[calls])
    return SetMemory(time, filling, asker, len(dur), IntervalSet.of_rows(ops.ops.iloc[calls]), beside(ops, root, _ADDS))


def _asker(tree: OpTree, ops: Int64Array, dur_ns: Int64Array) -> tuple[str, Int64Array]:
    """The operator that asks for most of some time, and which of its calls do; none where no operator does."""
    row = pick_row(asking(tree), ops)
    code = pick_row(codes_of(tree.ops["name"]).astype(np.int64), row)
    known = code != NONE
    nobody = "", np.zeros(0, dtype=np.int64)
    if not known.any():
        return nobody
    distinct, place = np.unique(code[known], return_inverse=True)
    times = np.bincount(place, weights=dur_ns[known])
    most = int(np.argmax(times))
    if times[most] < _MOST * dur_ns.sum():
        return nobody
    calls: Int64Array = np.unique(row[code == distinct[most]])
    return operator_name(str(distinct_texts(tree.ops["name"])[distinct[most]])), calls
