"""Time of the program's modules: `nn.Module` calls where the trace has them, else its author's ranges; forward and backward.

The backward pass has no modules of its own: what runs under a node belongs to the module whose op left it.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.owning_ranges import inside_nodes, last_of_number, opened, owners
from analyzer.facts.host.section import HostFacts
from analyzer.facts.model.module_paths import Paths, paths
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array, RowArray, narrow
from analyzer.spans.grouping import chosen, columns_at
from analyzer.spans.labels import codes_of, is_any, matching, texts
from analyzer.spans.open_spans import NONE, OpenSpans
from analyzer.spans.span_tree import SpanTree
from traces.fixed_frame import FixedFrame
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# What the profiler names the call of a module, with `with_stack=True` since torch 1.12; the ranges of `advisor collect --modules`.
MODULE_PREFIX = "nn.Module: "
_SPAN = ["thread", "start_ns", "end_ns"]

ModuleSource = Literal["modules", "ranges"]


class ModuleTime(msgspec.Struct, frozen=True):
    """A module, by the modules that call it; totals of the used steps, with what it calls, in nanoseconds.

    Args:
        path: Names from the outermost module to this one.
        calls: Of its forward pass.
        forward_ns: Host time of its calls.
        backward_ns: Host time of the nodes that its ops left, and of its calls inside the backward pass, which compute again.
        forward_kernel_ns: Device time of what its calls launched.
        backward_kernel_ns: Of what the backward pass launched for it.
        self_ns: Host time of both outside the modules it calls.
        self_kernel_ns: Device time, likewise.
    """

    path: tuple[str, ...]
    calls: int
    forward_ns: int
    backward_ns: int
    forward_kernel_ns: int
    backward_kernel_ns: int
    self_ns: int
    self_kernel_ns: int


class Modules(msgspec.Struct, frozen=True, eq=False):
    """The modules of the used steps.

    Args:
        source: What the tree is made of; None where the trace has neither.
        rows: A module before those it calls, in the order of their first calls.
        spans: Calls: name (without the prefix), thread, start_ns, end_ns.
        of_op: For each op the row of the call it belongs to, by the op it is the backward of where that is how; -1 for none.
        other_kernel_ns: Device time in the used steps that belongs to none.
    """

    source: ModuleSource | None
    rows: tuple[ModuleTime, ...]
    spans: pd.DataFrame
    of_op: RowArray
    other_kernel_ns: int


class _Parts(msgspec.Struct, frozen=True):
    """Own nanoseconds of each call: of host and device, forward and backward. Shape (calls,)."""

    forward: FloatArray
    backward: FloatArray
    forward_kernel: FloatArray
    backward_kernel: FloatArray


def modules(trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts) -> Modules:
    """Measures modules; nothing where the trace has neither modules nor ranges around its ops."""
    tree = host.ops
    nodes = tree.named(is_backward_node)
    source, spans = _spans(trace, host, nodes)
    if source is None:
        return Modules(None, (), spans, np.broadcast_to(np.int32(NONE), len(trace.ops)), 0)
    calls = SpanTree.of(spans)
    open_ranges = opened(spans, calls)
    node = tree.nearest(nodes)
    again = inside_nodes(spans, trace.ops, node, host)
    of_op, backward = owners(trace.ops, node, open_ranges, again)
    parts, other = _own_times(
        trace, device, steps, host, calls, open_ranges, of_op, backward, again, np.flatnonzero(nodes), node
    )
    found = paths(calls, spans["name"], again != NONE)
    return Modules(source, _rows(calls, found, parts, steps, again), spans, narrow(of_op), other)


def _spans(trace: Trace, host: HostFacts, nodes: BoolArray) -> tuple[ModuleSource | None, pd.DataFrame]:
    """Calls of modules, else the author's ranges that hold forward ops; by start."""
    frames = [
        columns_at(frame, matching(frame["name"], lambda name: name.startswith(MODULE_PREFIX)), ["name", *_SPAN])
        for frame in (trace.python, trace.annotations)
    ]
    source: ModuleSource = "modules"
    if not any(map(len, frames)):
        source, frames = "ranges", [_ranges(trace, host, nodes)]
    names = np.concatenate([texts(frame["name"]) for frame in frames])
    columns = {name: np.concatenate([frame[name].to_numpy() for frame in frames]) for name in _SPAN}
    order = np.argsort(columns["start_ns"], kind="stable")
    found = FixedFrame(
        {
            "name": [str(name).removeprefix(MODULE_PREFIX) for name in names[order].tolist()],
            **{name: values[order] for name, values in columns.items()},
        },
        copy=False,
    )
    return (source if len(found) else None), found


def _ranges(trace: Trace, host: HostFacts, nodes: BoolArray) -> pd.DataFrame:
    """The author's ranges that hold ops of a forward pass; one around `backward()` alone divides nothing."""
    ranges = columns_at(trace.annotations, is_any(trace.annotations["kind"], "user"), ["name", *_SPAN])
    if not len(ranges):
        return ranges
    ops = trace.ops
    forward = ~host.ops.under(nodes)
    if nodes.any():
        forward &= _leaving(ops, forward, nodes)
    tree = SpanTree.of(ranges)
    at = opened(ranges, tree).at(ops["thread"].to_numpy()[forward], ops["start_ns"].to_numpy()[forward])
    held = tree.accumulated(np.bincount(at[at != NONE], minlength=len(ranges)).astype(np.float64)) > 0
    # By name: a call without such an op is a call of the same part.
    codes = codes_of(ranges["name"])
    return chosen(ranges, np.isin(codes, codes[held]))


def _leaving(ops: pd.DataFrame, forward: BoolArray, nodes: BoolArray) -> BoolArray:
    """Which ops of the forward pass left a node that the trace has, shape (ops,)."""
    number = ops["sequence"].to_numpy(dtype=np.float64, na_value=np.nan)
    numbers, last = last_of_number(number, forward)
    found = np.zeros(len(ops), dtype=bool)
    found[last] = np.isin(numbers, number[nodes])
    return found


def _own_times(
    trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts, calls: SpanTree, open_ranges: OpenSpans,
    of_op: Int64Array, backward: BoolArray, again: Int64Array, rows: Int64Array, node: Int64Array,
) -> tuple[_Parts, int]:  # fmt: skip
    """Own times of each call in the used steps, and the device time that belongs to none."""
    inside = steps.host_window.contains(calls.start_ns)
    in_backward = again != NONE
    parts = _Parts(*(np.zeros(len(calls.start_ns)) for _ in range(4)))
    np.add(parts.forward, calls.self_ns, out=parts.forward, where=inside & ~in_backward)
    np.add(parts.backward, calls.self_ns, out=parts.backward, where=inside & in_backward)
    tree = host.ops
    rows = rows[steps.host_window.contains(tree.ops["start_ns"].to_numpy()[rows])]
    own = _outside_inner(tree.parent, node, tree.ops["dur_ns"].to_numpy(), rows, calls, again)
    mine = of_op[rows] != NONE
    np.add.at(parts.backward, of_op[rows[mine]], own[mine])
    launched = device.launched
    work = steps.window.contains(launched["start_ns"].to_numpy())
    thread, at, duration = (launched[name].to_numpy()[work] for name in ("launch_thread", "launch_start_ns", "dur_ns"))
    op = tree.enclosing(thread, at)
    call = np.where(op == NONE, open_ranges.at(thread, at), np.append(of_op, NONE)[op])
    late = np.append(backward, False)[op] | np.append(in_backward, False)[call]
    for target, mine in ((parts.forward_kernel, ~late), (parts.backward_kernel, late)):
        mine = mine & (call != NONE)
        np.add.at(target, call[mine], duration[mine])
    return parts, int(duration[call == NONE].sum())


def _outside_inner(
    parent: Int64Array, node: Int64Array, duration: Int64Array, rows: Int64Array, calls: SpanTree, again: Int64Array
) -> FloatArray:
    """Duration of nodes without the nodes and the outermost calls inside them; shape of `rows`."""
    within = np.zeros(len(parent))
    above = np.where(parent == np.arange(len(parent)), NONE, node[parent])
    inner = rows[above[rows] != NONE]
    np.add.at(within, above[inner], duration[inner])
    # A call inside another that runs in the same node is part of that one.
    outer = np.flatnonzero((again != NONE) & (calls.is_root | (again[calls.parent] != again)))
    np.add.at(within, again[outer], calls.dur_ns[outer])
    return np.maximum(duration[rows] - within[rows], 0)


def _rows(calls: SpanTree, found: Paths, parts: _Parts, steps: Steps, again: Int64Array) -> tuple[ModuleTime, ...]:
    """Sums by group, with those below; a group without time in the used steps is left out."""
    count = len(found.names)
    own = [
        np.bincount(found.group, one, count).astype(np.float64)
        for one in (parts.forward, parts.backward, parts.forward_kernel, parts.backward_kernel)
    ]
    inside = steps.host_window.contains(calls.start_ns) & (again == NONE)
    called = np.bincount(found.group[inside], minlength=count)
    total = [found.accumulated(one) for one in own]
    rows = []
    for one, path in found.in_order(calls.start_ns, np.sum(total, axis=0) > 0):
        forward, backward, forward_kernel, backward_kernel = (round(float(sums[one])) for sums in total)
        rows.append(
            ModuleTime(
                path=path, calls=int(called[one]), forward_ns=forward, backward_ns=backward,
                forward_kernel_ns=forward_kernel, backward_kernel_ns=backward_kernel,
                self_ns=round(float(own[0][one] + own[1][one])), self_kernel_ns=round(float(own[2][one] + own[3][one])),
            )
        )  # fmt: skip
    return tuple(rows)
