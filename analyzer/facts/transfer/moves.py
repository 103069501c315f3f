"""The ops that move tensors between host and device: `aten::to`, from its start to its end."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.transfer.copies import Copies
from analyzer.facts.transfer.made_on_host import outermost_move
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.open_spans import NONE
from traces.trace import Trace


def moves(trace: Trace, host: HostFacts, copies: Copies) -> IntervalSet:
    """The host time of the ops that these copies are for: what they do around the call goes with it."""
    known = copies.with_call
    if not len(known) or not len(trace.ops):
        return IntervalSet()
    inner = host.ops.enclosing(known["call_thread"].to_numpy(np.int64), known["call_start_ns"].to_numpy(np.int64))
    found = outermost_move(host.ops, inner)
    return IntervalSet.of_rows(trace.ops.iloc[np.unique(found[found != NONE])])
