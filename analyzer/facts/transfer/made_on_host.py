"""Tensors made on the host and moved to the device in the next breath: `torch.zeros(n).to("cuda")`."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.precision import decoded_list
from analyzer.facts.transfer.copies import Copies, Transfers
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import texts
from analyzer.spans.open_spans import NONE
from traces.trace import Trace

# What fills a new tensor, as the leaf op of a factory function.
_FILLS = frozenset(
    f"aten::{name}"
    for name in ("fill_", "zero_", "normal_", "uniform_", "random_", "arange", "full", "linspace", "eye")
)
_MOVES = frozenset({"aten::to", "aten::_to_copy"})


class MadeOnHost(msgspec.Struct, frozen=True):
    """Copies to the device whose source was filled just before.

    Args:
        copies: Those of `Transfers.to_device` concerned.
        filling: The op that filled each, by name.
        host: From the start of the filling op to the end of the move, on the thread that did both.
    """

    copies: Copies
    filling: tuple[str, ...]
    host: IntervalSet


def made_on_host(trace: Trace, host: HostFacts, transfers: Transfers) -> MadeOnHost:
    """Finds them: a fill, then a move of the same number of values, next to each other on one thread.

    A move is an `aten::to` with a copy to the device below it. The fill has to be the last op before it and end before it starts;
    shapes must agree where they were recorded. (torch's own ExtraCUDACopyPattern compares the order of names only.)
    """
    copies = transfers.to_device.with_call
    ops, tree = trace.ops, host.ops
    if not len(copies) or not len(ops):
        return MadeOnHost(Copies(copies.iloc[:0]), (), IntervalSet())
    inner = tree.enclosing(copies["call_thread"].to_numpy(np.int64), copies["call_start_ns"].to_numpy(np.int64))
    move = outermost_move(tree, inner)
    before = tree.before(move)
    found = (move != NONE) & (before != NONE)
    fill = tree.named(lambda name: name in _FILLS)
    found &= np.append(fill, False)[before]
    found[found] &= _adjoining(tree, before[found], move[found])
    names = texts(ops["name"].iloc[before[found]])
    start, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    return MadeOnHost(
        Copies(copies[found]),
        tuple(map(str, names)),
        IntervalSet(start[before[found]], end[move[found]]),
    )


def outermost_move(tree: OpTree, inner: Int64Array) -> Int64Array:
    """For each op the outermost of the moves around it that is itself inside no other op but moves; -1 where there is none."""
    if not len(tree.parent):
        return np.full(len(inner), NONE, dtype=np.int64)
    moves = tree.named(lambda name: name in _MOVES)
    nearest = np.append(tree.nearest(moves), NONE)[inner]
    # `aten::to` calls `aten::_to_copy`: step up while the parent is a move as well. torch 1.8 wrote every op twice, in itself.
    for _ in range(2 * len(_MOVES)):
        parent = tree.parent[np.maximum(nearest, 0)]
        up = (nearest != NONE) & moves.take(parent)
        if not up.any():
            break
        nearest = np.where(up, parent, nearest)
    result: Int64Array = nearest
    return result


def _adjoining(tree: OpTree, fill: Int64Array, move: Int64Array) -> BoolArray:
    """Whether the fill ended before the move began and, where both shapes are known, both are of one shape."""
    ops = tree.ops
    ended: BoolArray = ops["end_ns"].to_numpy()[fill] <= ops["start_ns"].to_numpy()[move]
    dims, types = ops["input_dims"].array, ops["input_types"].array
    same = [_first(left) == _first(right) for left, right in zip(dims[fill], dims[move], strict=True)]
    typed = [_first(left) in (None, "", _first(right)) for left, right in zip(types[fill], types[move], strict=True)]
    result: BoolArray = ended & np.array(same, dtype=np.bool_) & np.array(typed, dtype=np.bool_)
    return result


def _first(text: object) -> object:
    """The first entry of a JSON list; None where there is none."""
    if not isinstance(text, str):
        return None
    listed = decoded_list(text)
    return listed[0] if listed else None
