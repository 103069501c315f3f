"""Where host time without any op lies: which op ended before it, which one began after it.

Without stacks that is all a trace knows of the program's own code, and often enough to find the line.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np

from analyzer.facts.host.outermost import TORCHS_RANGES
from analyzer.facts.host.section import HostFacts
from analyzer.facts.sync.waits import Waits
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import sums_by
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from traces.reader.names.autograd import BACKWARD_NODE
from traces.reader.names.vocabulary import annotation_kind
from traces.trace import Trace

# What stands for either neighbour where another thread runs the backward pass, of which the training thread's ops say nothing.
BACKWARD = "node of the backward pass"
# Waits for values that the program itself looks at.
READS = ("scalar", "copy_out")
# What `Tensor.backward` makes first: the gradient of the loss.
GRADIENT_OF_LOSS = "aten::ones_like"


class Silence(msgspec.Struct, frozen=True):
    """Stretches without an op that lie between the same two ops.

    Args:
        before: Name of the op, or of torch's own range, that ended last before them; `BACKWARD` for both where another thread
            evaluates nodes of the backward pass on either side.
        after: Name of the one that begins next.
        stretches: How many there are.
        total_ns: Their time.
    """

    before: str
    after: str
    stretches: int
    total_ns: int


def silences(trace: Trace, host: HostFacts, time: IntervalSet) -> tuple[Silence, ...]:
    """What stretches of the training thread's time lie between: ops, ranges of torch and calls; the longest together first.

    Args:
        trace: The trace.
        host: What the threads of the host do.
        time: The stretches; those before the thread's first op or after its last one are left out.
    """
    spans = host.outermost
    if not len(spans) or not time:
        return ()
    code, start, end = spans.code, spans.start_ns, spans.end_ns
    before = np.searchsorted(end, time.start_ns, side="right") - 1
    after = np.searchsorted(start, time.end_ns, side="left")
    inside = (before >= 0) & (after < len(start))
    before, after = before[inside], after[inside]
    backward = _within_backward(trace, host, time, end[before], start[after], inside)
    names = [*spans.names, BACKWARD]
    codes = [np.where(backward, len(names) - 1, code[neighbour]) for neighbour in (before, after)]
    pairs = codes[0].astype(np.int64) * len(names) + codes[1]
    distinct, place = np.unique(pairs, return_inverse=True)
    counts, totals = sums_by(place, (time.end_ns - time.start_ns)[inside], len(distinct))
    found = [
        Silence(names[pair // len(names)], names[pair % len(names)], stretches, total)
        for pair, stretches, total in zip(distinct.tolist(), counts.tolist(), totals.tolist(), strict=True)
    ]
    return tuple(sorted(found, key=lambda item: (-item.total_ns, item.before, item.after)))


def after_reads(
    trace: Trace, host: HostFacts, waits: Waits, time: IntervalSet, reasons: tuple[str, ...] = READS
) -> IntervalSet:
    """The stretches before which the training thread's last call read values off the device: `.item()`, `.cpu()`.

    Args:
        trace: The trace.
        host: What the threads of the host do.
        waits: Calls that wait for the device.
        time: The stretches.
        reasons: Why the call waited.
    """
    calls = trace.runtime
    mine = calls["thread"].to_numpy() == host.main_thread
    start, end = (calls[name].to_numpy()[mine] for name in ("start_ns", "end_ns"))
    if not len(end):
        return EMPTY
    order = np.argsort(end, kind="stable")
    reading = waits.calls["start_ns"].to_numpy()[waits.asked_by(reasons)]
    reads = np.isin(start, reading)[order]
    last = np.searchsorted(end[order], time.start_ns, side="right") - 1
    follows = (last >= 0) & reads[np.maximum(last, 0)]
    return IntervalSet(time.start_ns[follows], time.end_ns[follows])


def entering(host: HostFacts, time: IntervalSet) -> IntervalSet:
    """The stretches behind which the training thread enters a range of torch's own, or the backward pass from the loss on.

    Before such a range's first event torch runs Python of its own: hooks of the optimizer, the loader's `next`, `Tensor.backward`.

    Args:
        host: What the threads of the host do.
        time: The stretches.
    """
    spans = host.outermost
    if not len(spans):
        return EMPTY
    entries = np.array([_is_entry(name) for name in spans.names], dtype=bool)
    after = np.searchsorted(spans.start_ns, time.end_ns, side="left")
    known = after < len(spans)
    kept = known & entries[spans.code[np.minimum(after, len(spans) - 1)]]
    return IntervalSet(time.start_ns[kept], time.end_ns[kept])


def _is_entry(name: str) -> bool:
    return name == GRADIENT_OF_LOSS or annotation_kind(name) in TORCHS_RANGES


def _within_backward(
    trace: Trace, host: HostFacts, time: IntervalSet, since_ns: Int64Array, until_ns: Int64Array, inside: BoolArray
) -> BoolArray:
    """Whether nodes of the backward pass ran on another thread on both sides of a stretch, between its neighbours.

    Args:
        trace: The trace.
        host: What the threads of the host do.
        time: The stretches.
        since_ns: End of the neighbour before each, shape (n,).
        until_ns: Start of the neighbour behind each, shape (n,).
        inside: Which of the stretches have both neighbours; n of them.
    """
    ops = trace.ops
    nodes = np.flatnonzero(matching(ops["name"], re.compile(BACKWARD_NODE).match))
    nodes = nodes[ops["thread"].to_numpy()[nodes] != host.main_thread]
    if not len(nodes):
        return np.zeros(len(since_ns), dtype=bool)
    starts, ends = (np.sort(ops[name].to_numpy()[nodes], kind="stable") for name in ("start_ns", "end_ns"))
    earlier = np.searchsorted(ends, time.start_ns[inside], side="right") - 1
    later = np.searchsorted(starts, time.end_ns[inside], side="left")
    known = (earlier >= 0) & (later < len(starts))
    return np.asarray(
        known & (ends[np.maximum(earlier, 0)] >= since_ns) & (starts[np.minimum(later, len(starts) - 1)] <= until_ns),
        dtype=bool,
    )
