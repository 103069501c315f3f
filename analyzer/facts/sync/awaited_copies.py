"""Waits of the program behind which it finds what was copied to the host without waiting: those it may need."""

from __future__ import annotations

import numpy as np

from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.facts.sync.waits import Waits
from analyzer.spans.labels import is_any
from traces.trace import Trace


def awaited_copies(trace: Trace, waits: Waits) -> WaitingCalls:
    """The program's own waits before whose end a copy to the host ended that no call had waited for yet."""
    calls = waits.calls
    ends = np.sort(trace.copies["end_ns"].to_numpy()[is_any(trace.copies["direction"], "DtoH")])
    order = np.lexsort((calls["end_ns"].to_numpy(), calls["thread"].to_numpy()))
    until, thread = calls["end_ns"].to_numpy()[order], calls["thread"].to_numpy()[order]
    first = np.append(True, thread[1:] != thread[:-1])
    since = np.where(first, np.iinfo(np.int64).min, np.append(0, until[:-1]))[: len(until)]
    found = np.zeros(len(calls), dtype=bool)
    found[order] = np.searchsorted(ends, until, side="right") > np.searchsorted(ends, since, side="right")
    return WaitingCalls(calls[found & waits.asked_by(("explicit",))])
