"""Next to which op values are read off the device: all that a trace without stacks tells of the line that reads them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from analyzer.facts.host.beside import beside
from analyzer.facts.host.section import HostFacts
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern

# Of the reads, a place that fewer have in common is one of many.
_MOST = 0.5
_READS = Pattern(r"aten::(?:item|_local_scalar_dense|is_nonzero|equal|to|cpu|detach_?|view|reshape|select)$")
# Ops of libraries and of torch that say by their name what the program does there; arithmetic does not.
_OP = Pattern(r"[a-zA-Z_]\w*::\w+$")
_SAYS_NOTHING = Pattern(
    r"aten::(?:add|sub|rsub|mul|div|pow|sqrt|neg|abs|sum|mean|max|min|amax|amin|any|all|eq|ne|lt|le|gt|ge|cat|stack|zero|fill|copy"
    r"|empty|zeros|ones|full|clone|where|exp|log|clamp\w*|index|slice|squeeze|unsqueeze|expand|transpose|t|permute|contiguous"
    r"|linear|mm|bmm|matmul|addmm|arange|isnan|isfinite|_\w*like|\w+_like|empty_strided|logical_\w+|bitwise_\w+)_?$"
)
# What makes one truth value of a tensor, or of a number that may be none.
_CHECK = Pattern(r"aten::(?:all|any|isnan|isinf|isfinite|logical_(?:and|or|not))_?$")

# What such a value is computed of.
_COMPUTES_CHECK = Pattern(
    r"aten::(?:all|any|isnan|isinf|isfinite|logical_\w+|bitwise_\w+|ge|gt|le|lt|eq|ne|abs|sub|max|min|amax|amin|sum|to|detach)_?$"
)


def checks(host: HostFacts, calls: WaitingCalls) -> float:
    """The share of some reads right behind an op that makes a truth value, 0..1: as an assertion and validated arguments do.

    Args:
        host: What the threads of the host do.
        calls: Calls that read values.
    """
    spans = host.outermost
    frame = calls.frame[(calls.frame["thread"] == host.main_thread).to_numpy()]
    begun = frame.groupby("unit", sort=False)["start_ns"].min().to_numpy()
    if not len(begun) or not len(spans):
        return 0.0
    before = np.searchsorted(spans.start_ns, begun, side="right") - 2
    check = np.array([_CHECK.match(name) is not None for name in spans.names])[spans.code]
    return float((check[np.maximum(before, 0)] & (before >= 0)).mean())


def checking(host: HostFacts, calls: WaitingCalls) -> IntervalSet:
    """Host time of the reads, of what is computed for them, and of the Python beside: a check that is not made takes none of it.

    Args:
        host: What the threads of the host do.
        calls: Calls that read values.
    """
    thread, start = (calls.frame[name].to_numpy(np.int64) for name in ("thread", "start_ns"))
    root = np.append(host.ops.nearest(host.ops.depth == 0), NONE)[host.ops.enclosing(thread, start)]
    return beside(host.ops, np.unique(root), _COMPUTES_CHECK, python=True)


def neighbour(host: HostFacts, calls: WaitingCalls) -> tuple[str, float] | None:
    """The op that most of these calls stand before or behind, as `` before `op` ``, and the share of them; None where none does.

    Args:
        host: What the threads of the host do.
        calls: Calls that read values.
    """
    spans = host.outermost
    code, start, names = spans.code, spans.start_ns, spans.names
    frame = calls.frame[(calls.frame["thread"] == host.main_thread).to_numpy()]
    begun = frame.groupby("unit", sort=False)["start_ns"].min().to_numpy()
    if len(begun) < 2 or not len(start):
        return None
    own = np.searchsorted(start, begun, side="right") - 1
    reads = np.array([_READS.match(name) is not None for name in names])[code]
    for word, step in (("before", 1), ("behind", -1)):
        found = Counter(names[code[at]] for at in _beyond(own, reads, step).tolist() if 0 <= at < len(code))
        for name, count in found.most_common(1):
            if count > _MOST * len(begun) and _OP.match(name) and not _SAYS_NOTHING.match(name):
                return f"{word} `{name}`", count / len(begun)
    return None


def _beyond(place: Int64Array, reads: BoolArray, step: int) -> Int64Array:
    """The next span, or the last one, that reads nothing; outside of the array where there is none."""
    others = np.flatnonzero(~reads)
    if not len(others):
        return np.full(len(place), -1)
    side = np.searchsorted(others, place, side="right") if step > 0 else np.searchsorted(others, place, side="left") - 1
    return np.append(others, len(reads))[np.where(side >= 0, side, len(others))]
