"""What launched work waits for while its device idles: the cause `device_wait`, taken apart.

A wait begins when the launch has returned, or when the work before it ended if that is later. Short ones are what starting work
takes; of a long one the trace may show what it was for.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.device.activity import DeviceActivity
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.time.waterfall import Waterfall
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern
from traces.trace import Trace

# The launch lead is 2-18 us where the device waits for each launch, and 71 us or more where it does not (rules.md 0.4, 46 traces);
# from one piece of queued work to the next 14 us pass at most in eight recorded traces.
_SHORT_NS = 71_000
# Another device is what a wait is for where it works for most of it.
_OTHER_DEVICE_PART = 0.5
_WAIT_FOR_EVENT = Pattern(r"[a-zA-Z]*StreamWaitEvent|[a-z]+Command waitOnEvent")


class DeviceWaits(msgspec.Struct, frozen=True):
    """The device's idle time behind launches that have returned; the parts are disjoint.

    Args:
        starting: The device was idle already when the launch returned, and the work starts at once.
        between_nodes: From one node of a graph to the next: one call launched both.
        in_queue: From one piece of work to the next, which was launched by then, at once.
        for_device: Longer, while another device of the process works; its next work may wait to be launched behind that, or for an
            event of it: what one device hands over to another one goes through an event.
        for_event: Longer, behind a call that makes the stream wait for an event, with no other device at work.
        unknown: Longer, and the trace does not show why.
    """

    starting: IntervalSet = EMPTY
    between_nodes: IntervalSet = EMPTY
    in_queue: IntervalSet = EMPTY
    for_device: IntervalSet = EMPTY
    for_event: IntervalSet = EMPTY
    unknown: IntervalSet = EMPTY

    @property
    def longest(self) -> str:
        """The part that most of the waits are in, by its name."""
        return max(self.__struct_fields__, key=lambda part: int(getattr(self, part).total_ns))


# What each part is, for people; in the order in which they are told where they are equally long.
WORDS: dict[str, str] = {
    "between_nodes": "between the nodes of a graph",
    "for_event": "for an event of another stream",
    "for_device": "for another device of the process",
    "in_queue": "from the end of one kernel to the start of the next",
    "unknown": "for something that the trace does not show: an event, another process, or work that was not recorded",
}


def device_waits(trace: Trace, device: DeviceFacts, waterfall: Waterfall) -> DeviceWaits:
    """Takes the waits of the device that stands for the trace apart."""
    waits = waterfall.owned("device_wait")
    main = device.main
    if not waits or main is None:
        return DeviceWaits()
    before, after = _neighbours(device, main, waits)
    launch = np.full(len(device.work), NONE)
    launch[device.launched.index.to_numpy()] = np.arange(len(device.launched))
    call = np.append(device.launched["launch_row"].to_numpy(), NONE)
    returned = np.append(device.launched["launch_end_ns"].to_numpy(), 0)[launch[after]]
    first, second = (call[np.append(launch, NONE)[rows]] for rows in (before, after))
    nodes = (first == second) & (second != NONE)
    short = waits.end_ns - waits.start_ns < _SHORT_NS
    idle_before = np.append(device.work["end_ns"].to_numpy(), np.iinfo(np.int64).min)[before] < returned
    other = device.work["device"].to_numpy() != main.device
    elsewhere = IntervalSet.of_rows(device.work, other)
    together = elsewhere.overlap_with(waits.start_ns, waits.end_ns)
    names = ("between_nodes", "starting", "in_queue", "for_device", "for_event")
    tests = (
        nodes,
        short & idle_before,
        short,
        together >= _OTHER_DEVICE_PART * (waits.end_ns - waits.start_ns),
        _behind_event(trace, second),
    )
    parts, left = {}, np.ones(len(nodes), dtype=bool)
    for name, test in zip(names, tests, strict=True):
        mine = left & test
        parts[name] = IntervalSet(waits.start_ns[mine], waits.end_ns[mine])
        left &= ~test
    return DeviceWaits(**parts, unknown=IntervalSet(waits.start_ns[left], waits.end_ns[left]))


def _neighbours(device: DeviceFacts, main: DeviceActivity, waits: IntervalSet) -> tuple[Int64Array, Int64Array]:
    """The work that ended last before each wait, -1 for none, and the first that starts at its end or later; rows of `work`."""
    here = np.flatnonzero(device.work["device"].to_numpy() == main.device)
    start, end = (device.work[name].to_numpy()[here] for name in ("start_ns", "end_ns"))
    latest = np.maximum.accumulate(end)
    last = np.maximum.accumulate(np.where(end == latest, np.arange(len(end)), 0))
    following = np.searchsorted(start, waits.end_ns, side="left")
    before = np.where(following > 0, here[last[np.maximum(following - 1, 0)]], NONE)
    return before, here[np.minimum(following, len(here) - 1)]


def _behind_event(trace: Trace, call: Int64Array) -> BoolArray:
    """Whether the last call of a thread before each launch made a stream wait for an event; shape of `call`.

    Args:
        trace: The trace.
        call: The launch of each, as rows of `trace.runtime`, -1 for none.
    """
    calls = trace.runtime
    waiting = matching(calls["name"], _WAIT_FOR_EVENT.match)
    if not waiting.any():
        return np.zeros(len(call), dtype=bool)
    order = np.lexsort((calls["start_ns"].to_numpy(), calls["thread"].to_numpy()))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    at = place[call] - 1
    earlier = order[np.maximum(at, 0)]
    thread = calls["thread"].to_numpy()
    found: BoolArray = (call != NONE) & (at >= 0) & waiting[earlier] & (thread[earlier] == thread[call])
    return found
