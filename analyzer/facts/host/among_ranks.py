"""When a thread without a device does nothing but communicate: it calls a collective, or waits for one that another thread runs.

A wait leaves no range of its own: `Work.wait()` is Python, and what is around it may be an op, as a node of the backward pass whose
hook waits, or the range of an optimizer that sends parameters. What tells is that a collective runs, and that of the thread's ops
none works: nodes of the backward pass call others, and ops that communicate wait. A message that the thread sends or receives has a
range from its call until it is waited for: that is no wait while the thread still goes on to work, however long the range.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.host.ops import OpTree
from analyzer.facts.host.threads import HostActivity
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.reader.names.collectives import is_collective_op, waits_for_collective
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# A library's range (`gloo:send`) may begin in the call and last while the thread goes on; that of the call itself does not.
CALL = Pattern(r"c10d::|record_param_comms")
_MESSAGE = Pattern(r"\w+:i?(?:send|recv)")


def among_ranks(trace: Trace, host: HostActivity, ops: OpTree, thread: int | None) -> IntervalSet:
    """When a thread communicates, or waits for a collective that runs, and none of its ops works.

    Args:
        trace: The trace.
        host: What the threads do.
        ops: Which op encloses which.
        thread: Row in `trace.threads`.
    """
    if thread is None:
        return EMPTY
    ranges = trace.collectives
    mine = ranges["thread"].to_numpy() == thread
    messages = matching(ranges["name"], _MESSAGE.match) & mine
    running = IntervalSet.of_rows(ranges, ~messages)
    waits = matching(trace.ops["name"], waits_for_collective) & (trace.ops["thread"].to_numpy() == thread)
    running = running | IntervalSet.of_rows(trace.ops, waits)
    if not running and not messages.any():
        return EMPTY
    calling = matching(ranges["name"], CALL.match) & mine
    begun = ranges["start_ns"].to_numpy()[calling]
    working = host.during("ops", thread) - _not_working(ops, thread, begun) - IntervalSet.of_rows(ranges, calling)
    return (running | _waited_for(ranges[messages], working)) - working


def begins_to_wait(start_ns: Int64Array, end_ns: Int64Array, worked_until_ns: Int64Array) -> Int64Array:
    """When a thread begins to wait for each of its messages: once it has done what it did beside; shape (messages,).

    Args:
        start_ns: When each was asked for.
        end_ns: When each was through, or known to be.
        worked_until_ns: Ends of what the thread works on, in order.
    """
    before = np.searchsorted(worked_until_ns, end_ns, side="right")
    since: Int64Array = np.maximum(start_ns, np.append(np.iinfo(np.int64).min, worked_until_ns)[before])
    return since


def _waited_for(messages: pd.DataFrame, working: IntervalSet) -> IntervalSet:
    """When a thread may wait for its messages: a wait ends their range, and none of its ops works between the two."""
    start, end = (messages[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    since = begins_to_wait(start, end, working.end_ns)
    return IntervalSet.of(zip(since.tolist(), end.tolist(), strict=True))


def _not_working(tree: OpTree, thread: int, begun_ns: Int64Array) -> IntervalSet:
    """When the innermost op of a thread is one that only calls others, or communicates.

    A `torch.autograd.Function` that begins a collective is an op in which the thread waits for it, as those of
    `torch.distributed.nn.functional` do; what it computes beside has ops of its own.

    Args:
        tree: Which op encloses which.
        thread: The thread.
        begun_ns: When it calls collectives.
    """
    ops = tree.ops
    idle = tree.named(lambda name: is_backward_node(name) or is_collective_op(name))
    functions = tree.named(lambda name: "::" not in name)
    begins = np.zeros(len(ops) + 1, dtype=bool)
    begins[tree.enclosing(np.full(len(begun_ns), thread), begun_ns)] = True
    idle = idle | (functions & begins[:-1])
    mine = ops["thread"].to_numpy() == thread
    if not (idle & mine).any():
        return EMPTY
    # Between two of these moments the innermost op stays the same.
    at = np.unique(np.concatenate([ops[name].to_numpy()[mine] for name in ("start_ns", "end_ns")]))
    innermost = tree.enclosing(np.full(len(at), thread), at)
    chosen = np.append(idle, False)[innermost][:-1]
    return IntervalSet(at[:-1][chosen], at[1:][chosen])
