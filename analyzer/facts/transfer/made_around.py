"""Host time of a tensor that is made and sent: the move, the ops that make and hand it over beside it, and the Python between them.

`torch.tensor(n, device="cuda")` is `aten::empty`, `aten::to`, `aten::lift_fresh` and `aten::detach_`, and some Python before each.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.transfer.copies import Copies
from analyzer.facts.transfer.made_on_host import outermost_move
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern
from traces.trace import Trace

_MAKES = Pattern(
    r"aten::(?:empty\w*|new_\w+|zeros|ones|full|arange|scalar_tensor|fill_|zero_|resize_|set_|from_file|alias|lift\w*|detach_?"
    r"|view|reshape|unsqueeze)$"
)


def made_around(trace: Trace, host: HostFacts, copies: Copies) -> IntervalSet:
    """From the op before a tensor is made to the op behind it.

    Python of each side counts as far as it is no longer than the move and what makes it: more is work of its own.

    Args:
        trace: The trace.
        host: What the host's threads do.
        copies: Copies to the device.
    """
    known, tree = copies.with_call, host.ops
    roots = np.flatnonzero(tree.depth == 0)
    if not len(known) or not len(roots):
        return EMPTY
    inner = tree.enclosing(known["call_thread"].to_numpy(np.int64), known["call_start_ns"].to_numpy(np.int64))
    moved = outermost_move(tree, inner)
    thread, start, end = (trace.ops[name].to_numpy()[roots] for name in ("thread", "start_ns", "end_ns"))
    order = np.lexsort((start, thread))
    roots, thread, start, end = roots[order], thread[order], start[order], end[order]
    makes = matching(trace.ops["name"].iloc[roots], _MAKES.match)
    place = np.flatnonzero(np.isin(roots, moved[moved != NONE]))
    row = np.arange(len(roots))
    # The next op of each side that makes nothing: the last one before, the first one behind.
    before = np.append(np.maximum.accumulate(np.where(makes, NONE, row)), NONE)[place - 1]
    behind = np.append(np.minimum.accumulate(np.where(makes, len(roots), row)[::-1])[::-1], len(roots))[place + 1]
    first, last = before + 1, behind - 1
    apart = (thread[first] != thread[place]) | (thread[last] != thread[place])
    first, last = np.where(apart, place, first), np.where(apart, place, last)
    length = end[last] - start[first]
    left = (first > 0) & (thread[first - 1] == thread[first])
    beside = np.minimum(last + 1, len(roots) - 1)
    right = (beside > last) & (thread[beside] == thread[last])
    since = np.maximum(np.where(left, end[first - 1], start[first]), start[first] - length)
    until = np.minimum(np.where(right, start[beside], end[last]), end[last] + length)
    return IntervalSet(since, until)
