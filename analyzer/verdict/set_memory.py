"""How much of what the device does is setting memory to a value, and which op asks for most of it."""

from __future__ import annotations

import numpy as np

from analyzer.facts import Facts
from analyzer.facts.host.ops import pick_row
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching
from analyzer.spans.open_spans import NONE
from analyzer.units import share
from traces.reader.names.vocabulary import is_backward_node

# Below this part of the computing it does not say what that is.
_WORTH_NAMING = 0.1
_MOST = 0.5
_NAME_LENGTH = 60
# torch's kernel for values other than zero, and for tensors with holes.
_FILLS = "FillFunctor"


def fills(facts: Facts) -> BoolArray:
    """Which kernels set memory to a value, by their names."""
    return matching(facts.kernels.named.frame["name"], lambda name: _FILLS in name)


def set_memory(facts: Facts, computing: IntervalSet) -> str:
    """`setting memory to a value 21 %, most of it in `aten::zeros``; empty where it is little.

    Args:
        facts: The measurements.
        computing: When the device computes, in the used steps.
    """
    found = facts.kernels.named
    filling = fills(facts)
    main = facts.device.main
    work = facts.device.launched
    sets = is_any(work["kind"], "memset") & (work["device"].to_numpy() == (NONE if main is None else main.device))
    work = work[sets]
    time = (IntervalSet.of_rows(work) | found.spans(filling)) & computing
    ratio = time.total_ns / max(computing.total_ns, 1)
    if ratio < _WORTH_NAMING:
        return ""
    thread, called = (work[name].to_numpy(np.int64) for name in ("launch_thread", "launch_start_ns"))
    inside = computing.contains(work["start_ns"].to_numpy())
    asking = np.concatenate(
        [facts.host.ops.enclosing(thread, called)[inside], found.frame["op"].to_numpy(np.int64)[filling]]
    )
    dur = np.concatenate([work["dur_ns"].to_numpy(np.int64)[inside], found.frame["dur_ns"].to_numpy(np.int64)[filling]])
    return f"setting memory to a value {share(ratio)}{_asked(facts, asking, dur)}"


def _asked(facts: Facts, ops: Int64Array, dur_ns: Int64Array) -> str:
    """The outermost op that asks for most of it, of the backward pass the node."""
    tree = facts.host.ops
    root = np.append(tree.nearest(tree.parent == np.arange(len(tree.parent))), NONE)[ops]
    code = pick_row(codes_of(tree.ops["name"]).astype(np.int64), root)
    known = code != NONE
    if not known.any():
        return ""
    distinct, place = np.unique(code[known], return_inverse=True)
    times = np.bincount(place, weights=dur_ns[known])
    most = int(np.argmax(times))
    if times[most] < _MOST * dur_ns.sum():
        return ""
    name = str(distinct_texts(tree.ops["name"])[distinct[most]])
    called = name.rpartition(" ")[2] if is_backward_node(name) else name
    return f", most of it in `{called[:_NAME_LENGTH]}`"
