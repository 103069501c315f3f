"""Time of calls whose result is known, as `advisor collect` marks them, with the nodes that they leave for the backward pass."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick
from analyzer.facts.host.owning_ranges import inside_nodes, opened, owners
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.recording.known_results import KnownResult
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray
from analyzer.spans.columns import present
from analyzer.spans.grouping import columns_at
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any, texts
from analyzer.spans.span_tree import SpanTree
from traces.reader.names.again import scope_and_module
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace


class ComputedAgain(msgspec.Struct, frozen=True, eq=False):
    """One module's calls of one scope, in the used steps.

    Args:
        told: What the collector says of them.
        spans: The calls on the host, and the nodes of their ops in the backward pass.
        kernels: What both launched, shape (kernels,).
    """

    told: KnownResult
    spans: IntervalSet
    kernels: BoolArray


def computed_again(
    trace: Trace, host: HostFacts, kernels: Kernels, steps: Steps, told: tuple[KnownResult, ...]
) -> tuple[ComputedAgain, ...]:
    """Measures what the collector marked; what it tells of and did not mark in a used step is left out.

    Args:
        trace: The trace.
        host: Ops.
        kernels: Kernels of the used steps.
        steps: The steps.
        told: What the collector says of the calls.
    """
    marked = is_any(trace.annotations["kind"], "again") & steps.host_window.contains(trace.annotations["start_ns"])
    if not told or not marked.any():
        return ()
    ranges = columns_at(trace.annotations, marked, ["name", "thread", "start_ns", "end_ns"])
    ranges = ranges.iloc[np.argsort(ranges["start_ns"].to_numpy(), kind="stable")]
    open_ranges = opened(ranges, SpanTree.of(ranges))
    nodes = host.ops.named(is_backward_node)
    node = host.ops.nearest(nodes)
    of_op, _ = owners(trace.ops, node, open_ranges, inside_nodes(ranges, trace.ops, node, host))
    # Ops without a number leave no node: what carries the number of the next one belongs to that.
    linked = nodes & present(trace.ops["sequence"])
    names = [scope_and_module(name) for name in texts(ranges["name"])]
    found = []
    for one in told:
        mine = np.array([name == (one.scope, one.module) for name in names])
        if not mine.any():
            continue
        owned = np.append(mine, False)[of_op]
        if one.forward_only:
            owned &= ~host.ops.under(nodes)
        spans = IntervalSet.of_rows(ranges, mine) | IntervalSet.of_rows(trace.ops, owned & linked)
        found.append(ComputedAgain(one, spans & steps.host_window, pick(owned, kernels.frame["op"].to_numpy())))
    return tuple(found)
