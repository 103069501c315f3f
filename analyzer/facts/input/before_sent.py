"""What the host does between its last call for the device, or the loader's last batch, and the next large copy to the device.

There a program makes or changes what it sends: a batch that numpy or PIL augments, that is tokenised, that a simulator gave.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import LAUNCHING
from analyzer.facts.transfer.copies import Copies
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any
from traces.trace import Trace

# A batch is the largest of what a step sends, or a few parts of it are: what is far smaller are indices and constants of a model.
_PART_OF_LARGEST = 0.25


class BeforeSent(msgspec.Struct, frozen=True):
    """Host time that leads to a copy of a large tensor to the device, on the thread that issues the work.

    Args:
        any: All of it.
        behind_loader: That which a loader's batch precedes, with nothing given to the device since: the batch is on its way.
    """

    any: IntervalSet = EMPTY
    behind_loader: IntervalSet = EMPTY


def before_sent(trace: Trace, to_device: Copies, main: int | None) -> BeforeSent:
    """Finds what leads to each large copy to the device.

    Args:
        trace: The trace.
        to_device: Copies to the device in the used steps.
        main: The thread that issues work; None where none does.
    """
    if main is None or not len(to_device.with_call):
        return BeforeSent()
    sent = Copies(to_device.of_size(_PART_OF_LARGEST * to_device.largest_bytes).with_call).frame
    sent = sent[(sent["call_thread"] == main).to_numpy(dtype=bool)]
    to = np.sort(sent["call_start_ns"].to_numpy(np.int64))
    calls, ranges = trace.runtime, trace.annotations
    calls = calls[is_any(calls["kind"], *LAUNCHING) & (calls["thread"] == main).to_numpy()]
    loads = ranges[is_any(ranges["kind"], "loader") & (ranges["thread"] == main).to_numpy()]
    issued, loaded = (_last_end(frame, to) for frame in (calls, loads))
    since = np.maximum(issued, loaded)
    known = (since >= 0) & (since < to)
    batch = known & (loaded > issued)
    return BeforeSent(IntervalSet(since[known], to[known]), IntervalSet(since[batch], to[batch]))


def _last_end(frame: pd.DataFrame, to: Int64Array) -> Int64Array:
    """The end of the last row that ended by each time; -1 where none had."""
    ends = np.sort(frame["end_ns"].to_numpy(np.int64))
    return np.append(ends, -1)[np.searchsorted(ends, to, side="right") - 1]
