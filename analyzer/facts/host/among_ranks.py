"""When a thread without a device does nothing but communicate: it calls a collective, or waits for one that another thread runs.

A wait leaves no range of its own: `Work.wait()` is Python, and what is around it may be an op, as a node of the backward pass whose
hook waits, or the range of an optimizer that sends parameters. What tells is that a collective runs, and that of the thread's ops
none works: nodes of the backward pass call others, and ops that communicate wait.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.ops import OpTree
from analyzer.facts.host.threads import HostActivity
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.reader.names.collectives import is_collective_op, waits_for_collective
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# A library's range (`gloo:send`) may begin in the call and last while the thread goes on; that of the call itself does not.
_CALL = Pattern(r"c10d::|record_param_comms")


def among_ranks(trace: Trace, host: HostActivity, ops: OpTree, thread: int | None) -> IntervalSet:
    """When a thread communicates, or waits for a collective that runs, and none of its ops works.

    Args:
        trace: The trace.
        host: What the threads do.
        ops: Which op encloses which.
        thread: Row in `trace.threads`.
    """
    running = host.anywhere("collectives")
    if thread is None:
        return EMPTY
    waits = matching(trace.ops["name"], waits_for_collective) & (trace.ops["thread"].to_numpy() == thread)
    running = running | IntervalSet.of_rows(trace.ops, waits)
    if not running:
        return EMPTY
    ranges = trace.collectives
    calling = matching(ranges["name"], _CALL.match) & (ranges["thread"].to_numpy() == thread)
    working = host.during("ops", thread) - _not_working(ops, thread) - IntervalSet.of_rows(ranges, calling)
    return running - working


def _not_working(tree: OpTree, thread: int) -> IntervalSet:
    """When the innermost op of a thread is one that only calls others, or communicates."""
    ops = tree.ops
    idle = tree.named(lambda name: is_backward_node(name) or is_collective_op(name))
    mine = ops["thread"].to_numpy() == thread
    if not (idle & mine).any():
        return EMPTY
    # Between two of these moments the innermost op stays the same.
    at = np.unique(np.concatenate([ops[name].to_numpy()[mine] for name in ("start_ns", "end_ns")]))
    innermost = tree.enclosing(np.full(len(at), thread), at)
    chosen = np.append(idle, False)[innermost][:-1]
    return IntervalSet(at[:-1][chosen], at[1:][chosen])
