"""What the loader's calls do on the device: they take rows of tensors that lie there, or send what they make."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.input.wait import SINGLE_PROCESS, InputWait
from analyzer.facts.transfer.copies import Copies
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any, matching
from traces.patterns import Pattern
from traces.trace import Trace

# What torch's own collation calls, and what puts graphs and texts of different lengths together.
_TOGETHER = ("aten::stack", "aten::cat")
_TORCHS = Pattern(SINGLE_PROCESS)


class OnDevice(msgspec.Struct, frozen=True):
    """Work of the device that the training thread launches inside the calls of a loader without workers.

    Args:
        calls: Calls of the loader; 0 where it has workers.
        computing: Calls in which a kernel is launched.
        collating: Calls in which one is launched by what puts samples together.
        sending: Calls in which something is copied to the device.
    """

    calls: int = 0
    computing: int = 0
    collating: int = 0
    sending: int = 0

    @property
    def holds(self) -> bool:
        """Whether batches are made of what is on the device already: kernels run for that, and nothing is sent."""
        return 2 * self.computing > self.calls and not self.sends

    @property
    def one_by_one(self) -> bool:
        """Whether they are put together of samples there."""
        return self.holds and 2 * self.collating > self.calls

    @property
    def sends(self) -> bool:
        """Whether the data set, or its collation, sends to the device what it makes, which is most often left to the loop."""
        return 2 * self.sending > self.calls


def on_device(trace: Trace, device: DeviceFacts, to_device: Copies, wait: InputWait, thread: int | None) -> OnDevice:
    """Counts the calls that launch kernels, and those that send.

    Args:
        trace: The trace.
        device: Work of the devices.
        to_device: Copies to the device in the used steps.
        wait: The loader's calls.
        thread: The one that trains.
    """
    if device.main is None or thread is None or not wait.single_process:
        return OnDevice()
    ranges = trace.annotations
    # A framework's range around torch's own may send the batch as well.
    torchs = matching(ranges["name"], _TORCHS.search) & (ranges["thread"].to_numpy() == thread)
    making = IntervalSet.of_rows(chosen(ranges, torchs))
    launched, sent = device.launched, to_device.with_call
    kernels = is_any(launched["kind"], "compute") & (launched["launch_thread"].to_numpy() == thread)
    at = launched["launch_start_ns"].to_numpy()[kernels]
    ops = trace.ops
    together = IntervalSet.of_rows(chosen(ops, is_any(ops["name"], *_TOGETHER) & (ops["thread"].to_numpy() == thread)))
    mine = sent["call_thread"].to_numpy(np.int64) == thread
    return OnDevice(
        calls=len(wait),
        computing=_calls_with(wait, making, at),
        collating=_calls_with(wait, making & together, at),
        sending=_calls_with(wait, making, sent["call_start_ns"].to_numpy(np.int64)[mine]),
    )


def _calls_with(wait: InputWait, making: IntervalSet, at: Int64Array) -> int:
    """How many calls hold one of these instants in which a batch is made; calls do not overlap."""
    start, end = (wait.calls[name].to_numpy() for name in ("start_ns", "end_ns"))
    instants = np.sort(at[making.contains(at)])
    return int((np.searchsorted(instants, end) > np.searchsorted(instants, start)).sum())
