"""What a program with DistributedDataParallel sends beside the gradients: in its update, behind the backward pass, before the loss.

Metrics are gathered, a sharded optimizer sends what it has updated, ranks meet at a barrier: none of it is a bucket of gradients,
and no setting of DDP changes it. Sums count where DDP's are seen inside nodes of the backward pass and these are not: else they may
be gradients. DDP's own copies of buffers are left out.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.communication.collectives import Collectives, call_spans
from analyzer.facts.communication.passes import layers_ns, nodes_ns
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.steps.find import Steps
from analyzer.ranks.names import kind_of
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import distinct_texts, is_any, matching
from analyzer.spans.moments import last_before
from analyzer.spans.open_spans import NONE
from analyzer.spans.span_tree import innermost
from traces.patterns import Pattern
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# Who calls is known of the op that torch registers for each collective, which stays on the thread of the call.
_CALL = Pattern(r"c10d::")
_FORWARD = Pattern(r"DistributedDataParallel\.forward$")
_ZERO = "#ZeroRedundancyOptimizer.step"
_KINDS = frozenset(("all_gather", "gather", "broadcast", "scatter", "barrier"))


class OwnCalls(msgspec.Struct, frozen=True):
    """Exposed time in what the program itself sends, by where it is called.

    Args:
        in_updates: Inside a step of the optimizer.
        behind: Between the backward pass and the next forward pass.
        before: In front of the backward pass.
        kinds_behind: Kinds of the collectives behind the backward pass.
        kinds_before: Kinds of those before it.
        of_zero: Whether the optimizer is torch's ZeroRedundancyOptimizer.
        joining: Sums inside DDP's forward pass and in front of its first layer: by those `Join` asks who still has batches.
    """

    in_updates: IntervalSet
    behind: IntervalSet
    before: IntervalSet
    kinds_behind: frozenset[str]
    kinds_before: frozenset[str]
    of_zero: bool
    joining: IntervalSet = EMPTY

    @property
    def total_ns(self) -> int:
        """All of it."""
        return self.in_updates.total_ns + self.behind.total_ns + self.before.total_ns + self.joining.total_ns


_NONE = OwnCalls(EMPTY, EMPTY, EMPTY, frozenset(), frozenset(), of_zero=False)


def own_calls(
    trace: Trace,
    device: DeviceFacts,
    steps: Steps,
    host: HostFacts,
    kernels: KernelFacts,
    found: Collectives,
    buffers: IntervalSet,
) -> OwnCalls:
    """Looks at the calls of the used steps; empty without DistributedDataParallel, or where parameters are sharded.

    Args:
        trace: The trace.
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        kernels: Kernels of the used steps.
        found: The collectives.
        buffers: When DDP keeps buffers alike.
    """
    if not found.data_parallel or found.sharded:
        return _NONE
    ranges = trace.collectives
    calls = ranges[matching(ranges["name"], _CALL.match)].sort_values("start_ns", kind="stable")
    start, thread = calls["start_ns"].to_numpy(), calls["thread"].to_numpy()
    kind_by_name = {name: kind_of(name) for name in distinct_texts(calls["name"])}
    kinds = np.array([kind_by_name[name] for name in calls["name"].astype(str)], dtype=object)
    own = np.isin(kinds.astype(str), sorted(_KINDS)) & ~buffers.contains(start)
    sums, of_ddp = kinds == "all_reduce", _in_nodes(host, thread, start)
    if (sums & of_ddp).any():
        own |= sums & ~of_ddp
    own &= steps.host_window.contains(start)
    if not own.any():
        return _NONE
    updating, behind = _in_updates(trace, start, thread), _behind_backward(host, start)
    joining = own & sums & ~updating & _before_layers(trace, host, start)
    own &= ~joining

    def exposed(rows: BoolArray) -> IntervalSet:
        spans = call_spans(device, steps, kernels, IntervalSet.of_rows(calls, rows))
        # Without a device the wait is none of the call's: what is waited for was called last.
        return found.exposed & (spans if device.main is not None else _until_next(start, rows, steps))

    return OwnCalls(
        in_updates=exposed(own & updating),
        behind=exposed(own & ~updating & behind),
        before=exposed(own & ~updating & ~behind),
        kinds_behind=frozenset(kinds[own & ~updating & behind]),
        kinds_before=frozenset(kinds[own & ~updating & ~behind]),
        of_zero=any(_ZERO in name for name in distinct_texts(trace.annotations["name"])),
        joining=exposed(joining),
    )


def _until_next(start: Int64Array, rows: BoolArray, steps: Steps) -> IntervalSet:
    """From each chosen call to the one behind it, or the end of the steps."""
    last = steps.window.end_ns[-1] if len(steps.window) else np.iinfo(np.int64).max
    following = np.append(start[1:], max(last, start[-1]))
    return IntervalSet(start[rows], following[rows])


def _in_nodes(host: HostFacts, thread: Int64Array, start: Int64Array) -> BoolArray:
    """Which calls are made inside a node of the backward pass, shape (calls,)."""
    nodes = host.ops.under(host.ops.named(is_backward_node))
    found: BoolArray = np.append(nodes, False)[host.ops.enclosing(thread, start)]
    return found


def _in_updates(trace: Trace, start: Int64Array, thread: Int64Array) -> BoolArray:
    """Which calls begin inside a step of the optimizer on their thread, shape (calls,)."""
    ranges = trace.annotations
    updates = ranges[is_any(ranges["kind"], "optimizer_step")]
    found: BoolArray = innermost(updates, thread, start) != NONE
    return found


def _before_layers(trace: Trace, host: HostFacts, start: Int64Array) -> BoolArray:
    """Which calls are made inside DDP's forward pass, with no layer before them in it; shape (calls,)."""
    ranges = trace.annotations
    passes = ranges[matching(ranges["name"], _FORWARD.match)]
    inside = IntervalSet.of_rows(passes).contains(start)
    began = last_before(np.sort(passes["start_ns"].to_numpy()), start, "right")
    found: BoolArray = inside & (last_before(layers_ns(host.ops), start) < began)
    return found


def _behind_backward(host: HostFacts, start: Int64Array) -> BoolArray:
    """Which calls have a node of the backward pass before them, and no layer of a forward pass since; shape (calls,)."""
    found: BoolArray = last_before(nodes_ns(host.ops), start) > last_before(layers_ns(host.ops), start)
    return found
