"""Stretches of host work between a large copy to the host and one back: it computes on a tensor and returns it."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.steps.find import Steps
from analyzer.facts.transfer.copies import SMALL_BYTES, Transfers
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any
from traces.trace import Trace


class ThroughHost(msgspec.Struct, frozen=True):
    """What goes through the host in the used steps.

    Args:
        host: From the first copy to the host to the copy back.
        returned_bytes: What is sent back.
    """

    host: IntervalSet = EMPTY
    returned_bytes: int = 0


def through_host(trace: Trace, steps: Steps, transfers: Transfers) -> ThroughHost:
    """Finds large copies to the device right behind large copies to the host, in one step and with no batch loaded between.

    Without steps nothing is found: behind the values of one step the next batch is sent as well.

    Args:
        trace: The trace.
        steps: The steps.
        transfers: Copies between host and device.
    """
    if steps.source == "whole-trace":
        return ThroughHost()
    copies = transfers.all.of("HtoD", "DtoH").of_size(SMALL_BYTES).with_call
    if len(copies) < 2:
        return ThroughHost()
    thread, begin, end = (copies[f"call_{name}"].to_numpy(dtype=np.int64) for name in ("thread", "start_ns", "end_ns"))
    order = np.lexsort((begin, thread))
    thread, begin, end = thread[order], begin[order], end[order]
    out = is_any(copies["direction"], "DtoH")[order]
    step = steps.of_host(begin)
    joined = np.append(False, (thread[1:] == thread[:-1]) & (step[1:] == step[:-1]) & (step[1:] >= 0))
    # The first of a row of copies to the host that goes on until here.
    starts = ~(out & joined & np.append(False, out[:-1]))
    first = np.maximum.accumulate(np.where(starts, np.arange(len(out)), 0))
    loading = np.sort(trace.annotations["start_ns"].to_numpy()[is_any(trace.annotations["kind"], "loader")])
    previous = np.maximum(np.arange(len(out)) - 1, 0)
    quiet = np.searchsorted(loading, end[first[previous]]) == np.searchsorted(loading, begin)
    back = ~out & joined & out[previous] & quiet
    return ThroughHost(
        IntervalSet(end[first[previous]][back], begin[back]) & steps.host_window,
        int(copies["size_bytes"].to_numpy(dtype=np.int64, na_value=0)[order[back]].sum()),
    )
