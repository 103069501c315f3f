"""Whether what a program makes of values that it read goes back to the device, as a simulator's next state does."""

from __future__ import annotations

import numpy as np

from analyzer.facts.sync.op_gaps import READS
from analyzer.facts.sync.waits import Waits
from analyzer.facts.transfer.copies import Copies
from analyzer.spans.intervals import IntervalSet


def may_answer(copies: Copies, waits: Waits, after: IntervalSet) -> bool:
    """Whether something is sent to the device behind most values that are read, before the next one is; also where no copy tells.

    Args:
        copies: All copies of the used steps.
        waits: Calls that wait for the device.
        after: What the host does behind the values that are asked about.
    """
    reads = np.sort(waits.calls["start_ns"].to_numpy(np.int64)[waits.asked_by(READS)])
    if not len(copies) or not len(reads):
        return True
    sent = np.sort(copies.of("HtoD").with_call["call_start_ns"].to_numpy(np.int64))
    ends = np.append(reads[1:], np.iinfo(np.int64).max)
    followed = np.searchsorted(after.start_ns, ends) > np.searchsorted(after.start_ns, reads)
    answered = np.searchsorted(sent, ends) > np.searchsorted(sent, reads)
    return bool(2 * np.count_nonzero(answered & followed) >= np.count_nonzero(followed))
