"""Every call that makes the host wait for the device, with what in the program asks for it.

The cause `sync` of the waterfall is divided among the calls: to each belongs what it owns from its start to the first kernel that
starts after its end (the run-ahead it destroyed), but never past the next waiting call of its thread, so that no nanosecond is two
calls'; and never more than the call lasted: without the wait the host would have been that much earlier, not more. A call that
found an idle device and returned at once destroyed nothing.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import copies_of_calls, from_source
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.engine_steps import engine_threads
from analyzer.facts.host.ops import pick, pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.tree import HostTree
from analyzer.facts.steps.find import WHOLE_TRACE, Steps
from analyzer.facts.sync.apart import WorkApart, work_apart
from analyzer.facts.sync.in_collectives import collective_of
from analyzer.facts.sync.wait_reasons import SCALAR, SHAPE, reasons
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.amounts import after_amount
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.grouping import chosen, numbered, running_sums_by
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching, texts
from analyzer.spans.moments import moments_in
from traces.fixed_frame import fixed
from traces.patterns import Pattern
from traces.trace import Trace

# Ops that copy because the program asks for a copy, and ops that only hand on what others ask for: they name no asker.
_PLAIN = (
    r"aten::(?:to|cpu|copy_|_to_copy|_copy_from|clone|contiguous|detach_?|numpy|tolist|lift_fresh|resolve_\w+|_local_scalar_dense"
    r"|item)$"
)
# Synchronisations that wait for all of a device's work.
_WHOLE_DEVICE = Pattern(r"(?:Device|Thread|Ctx)Synchronize", re.IGNORECASE)


class Waits(msgspec.Struct, frozen=True):
    """Waiting calls in the used steps.

    Args:
        calls: One row per call: name, reason, unit (equal for calls of one op), op (the op that waits, empty for a call of the
            program itself), asker (the outermost op that is more than a copy, empty without one), collective (the call of one
            that it belongs to, empty without one), thread, start_ns, end_ns, dur_ns, device_ns, copy_start_ns, copy_end_ns (of
            the copy it waits for, 0 without one), size_bytes (Int64), pinned (bool), of_all (bool: of all of the device's work),
            idle_ns (what it owns), step.
            `reason` is loader, anomaly, shape, scaler, scalar, copy_out, async_copy, copy_in, profiler, explicit, extension (in
            an op of one) or internal.
        sync: What the cause `sync` owns.
        idle: When the device does nothing, except where a call waits for work that is not in the trace.
        copying: What the cause `copy` owns: copies with nothing computed beside.
        territory_end_ns: For each call the end of the time it may own.
        window: The used steps, as the device goes through them.
        apart: Work of threads that go their own ways, where steps are requests or there are none: training is one thread's.
    """

    calls: pd.DataFrame
    sync: IntervalSet
    idle: IntervalSet
    copying: IntervalSet
    territory_end_ns: Int64Array
    window: IntervalSet
    apart: WorkApart

    def of(self, *reasons: str) -> WaitingCalls:
        """The calls with these reasons."""
        return WaitingCalls(chosen(self.calls, self.asked_by(reasons)))

    def owned(self, *reasons: str) -> IntervalSet:
        """Device-idle time that calls with these reasons own."""
        mine = self.asked_by(reasons)
        return self.sync & IntervalSet(self.calls["start_ns"].to_numpy()[mine], self.territory_end_ns[mine])

    def copied(self, *reasons: str, outside: IntervalSet = EMPTY) -> IntervalSet:
        """When the device does nothing but the copies that calls with these reasons wait for.

        Args:
            reasons: Of the calls.
            outside: Time of the host; calls that begin inside do not count.
        """
        asked, start, end = (self.calls[name].to_numpy() for name in ("start_ns", "copy_start_ns", "copy_end_ns"))
        some = self.asked_by(reasons) & ~outside.contains(asked) & (end > 0)
        return self.copying & IntervalSet(start[some], end[some])

    def asked_by(self, reasons: tuple[str, ...]) -> BoolArray:
        """Which calls have one of some reasons, shape (calls,)."""
        stated = self.calls["reason"].to_numpy()
        found: BoolArray = np.logical_or.reduce([stated == reason for reason in reasons]).astype(bool)
        return found


def waits(trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts, time: TimeFacts) -> Waits:
    """Measures all waiting calls of the used steps."""
    tree = host.tree
    calls = host.threads.calls
    blocking = np.flatnonzero(calls["blocking"].to_numpy(dtype=bool))
    rows = np.arange(len(tree.frame))[tree.sources["runtime"]][blocking]
    outermost = ~_in_another(calls, blocking, tree.parent[rows], rows)
    rows, blocking = rows[outermost], blocking[outermost]
    frame = _described(trace, device, host, tree, rows, blocking)
    frame["reason"] = reasons(trace, host, tree, rows, blocking, frame)
    sync = time.waterfall.owned("sync")
    until = _territory(trace, device, frame, sync)
    start = frame["start_ns"].to_numpy()
    frame["idle_ns"] = sync.overlap_with(start, until)
    used = steps.used
    step = steps.of_host(start)
    frame["step"] = used["number"].to_numpy()[step] if len(used) else step
    inside = step >= 0
    copying, frame = time.waterfall.owned("copy"), frame[inside].reset_index(drop=True)
    # Where a call waits for work that is not in the trace, the device may well be at it.
    idle = time.idle - host.threads.anywhere("unanswered")
    main, apart = device.main, WorkApart()
    if main is not None and (steps.source == WHOLE_TRACE or steps.requests):
        apart = work_apart(device.launched, main.device, frame, engine_threads(trace))
    return Waits(fixed(frame), sync, idle, copying, until[inside], steps.window, apart)


def _in_another(calls: pd.DataFrame, blocking: Int64Array, above: Int64Array, rows: Int64Array) -> BoolArray:
    """Waiting calls by which a runtime does what another one asks for: inside it, or meanwhile on a thread of its own (MTIA).

    Args:
        calls: All calls.
        blocking: Rows of the waiting ones.
        above: The row of what encloses each in the tree of the host's spans, its own where nothing does. Shape (waiting calls,).
        rows: Their own rows, likewise.
    """
    found: BoolArray = (above != rows) & np.isin(above, rows)
    known = present(calls["correlation"])[blocking]
    stating = blocking[known]
    work, count = numbered(calls["correlation"].to_numpy(np.int64, na_value=0)[stating])
    start, end, dur = (calls[name].to_numpy()[stating] for name in ("start_ns", "end_ns", "dur_ns"))
    first_start, last_end, longest = (np.zeros(count, dtype=np.int64) for _ in range(3))
    first_start[work] = start
    np.minimum.at(first_start, work, start)
    np.maximum.at(last_end, work, end)
    np.maximum.at(longest, work, dur)
    # One of them spans the others.
    found[known] |= (longest == last_end - first_start)[work] & (dur < longest[work])
    return found


def _described(
    trace: Trace, device: DeviceFacts, host: HostFacts, tree: HostTree, rows: Int64Array, blocking: Int64Array
) -> pd.DataFrame:
    """The waiting calls with the copy they wait for and the op around them."""
    calls, copies = host.threads.calls, trace.copies
    started = copies_of_calls(device.launched, from_source(device.launched, "copies"), len(calls))[blocking]
    copied = pick_row(device.launched["row"].to_numpy(), started)
    asking = tree.outermost(tree.matching(SCALAR) | tree.matching(SHAPE), rows)
    above = tree.parent[rows]
    ops = tree.of_source("ops")
    op = np.where(asking >= 0, asking, np.where(ops[above], above, -1))
    asker = tree.outermost(ops & tree.matching(r"\w+::\w+$") & ~tree.matching(_PLAIN), rows)
    names = [*distinct_texts(tree.frame["name"]), ""]
    return pd.DataFrame(
        {
            "name": texts(calls["name"])[blocking],
            "kind": calls["kind"].array[blocking],
            "direction": calls["direction"].array[blocking],
            # Calls of one op wait for the same thing; a call outside any op is a unit of its own.
            "unit": np.where(op >= 0, op, -1 - np.arange(len(rows))),
            "op": np.array(names, dtype=object)[pick_row(codes_of(tree.frame["name"]), op)],
            "asker": np.array(names, dtype=object)[pick_row(codes_of(tree.frame["name"]), asker)],
            "collective": collective_of(trace, calls.iloc[blocking]),
            **{
                name: calls[name].to_numpy()[blocking]
                for name in ("thread", "start_ns", "end_ns", "dur_ns", "device_ns")
            },
            "copy_start_ns": np.append(copies["start_ns"].to_numpy(), 0)[copied],
            "copy_end_ns": np.append(copies["end_ns"].to_numpy(), 0)[copied],
            "size_bytes": copies["size_bytes"].array.take(copied, allow_fill=True),
            "pinned": pick(is_any(copies["host_memory"], "pinned"), copied),
            "of_all": matching(calls["name"], _WHOLE_DEVICE.search)[blocking],
        },
        copy=False,
    )


def _territory(trace: Trace, device: DeviceFacts, frame: pd.DataFrame, sync: IntervalSet) -> Int64Array:
    """For each call where the time it may own ends."""
    end = frame["end_ns"].to_numpy().copy()
    main = device.main
    if main is not None:
        kernels = trace.kernels
        starts = np.sort(kernels["start_ns"].to_numpy()[kernels["device"].to_numpy() == main.device], kind="stable")
        index = np.searchsorted(starts, end, side="left")
        exists = index < len(starts)
        end[exists] = starts[index[exists]]
    order = np.lexsort((frame["start_ns"].to_numpy(), frame["thread"].to_numpy()))
    start, thread = frame["start_ns"].to_numpy()[order], frame["thread"].to_numpy()[order]
    if len(order) > 1:
        same = thread[1:] == thread[:-1]
        limit = np.where(same, start[1:], np.iinfo(np.int64).max)
        end[order[:-1]] = np.minimum(end[order[:-1]], limit)
    waited = running_sums_by(frame["unit"].to_numpy(), frame["dur_ns"].to_numpy())
    result: Int64Array = np.minimum(end, after_amount(sync, frame["start_ns"].to_numpy(), waited))
    return result


def host_reads(trace: Trace, steps: Steps, found: Waits) -> int:
    """How many `aten::item` in the used steps wait for nothing: those on CPU tensors.

    One in which a call waits may be told of another reason: of the op around it that needs a size.
    """
    reads = trace.ops[is_any(trace.ops["name"], "aten::item")]
    start, end = reads["start_ns"].to_numpy(), reads["end_ns"].to_numpy()
    waits = moments_in(found.calls["start_ns"].to_numpy(), start, end) > 0
    return int((steps.host_window.contains(start) & ~waits).sum())
