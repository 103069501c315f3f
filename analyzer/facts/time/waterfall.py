"""The waterfall: every nanosecond of the used steps has exactly one owner.

The table of causes and their order is in the design (architecture.md, "Causes"): device work first; while the device is idle,
what the thread that issues the next work is doing; where it does nothing, the main thread; where that does nothing, `python`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import numpy as np
import pandas as pd

from analyzer.cause_names import CAUSES
from analyzer.facts.device.activity import DeviceActivity
from analyzer.facts.host.threads import HostActivity
from analyzer.spans.amounts import no_more_than
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import rows_by
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.open_spans import NONE
from traces.trace import Trace

# A batch has a few parts, at most some dozens, which are sent before the first kernel.
_PARTS_OF_A_BATCH = 32


class Waterfall(msgspec.Struct, frozen=True):
    """Exclusive causes of one device's (or the CPU's) time.

    Args:
        owners: For each cause the part of the window it owns; disjoint, their union is the window.
        window: What was divided.
    """

    owners: dict[str, IntervalSet]
    window: IntervalSet

    def owned(self, *causes: str) -> IntervalSet:
        """The part of the window that causes own, together."""
        return IntervalSet.union(self.owners.get(cause, EMPTY) for cause in causes)

    def per_step(self, steps: pd.DataFrame) -> pd.DataFrame:
        """Step x cause, int64 ns; each row sums to the step's dur_ns for steps inside the window.

        Args:
            steps: Rows of `Steps.frame`.
        """
        start, end = steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy()
        owned = np.column_stack([self.owned(cause).overlap_with(start, end) for cause in CAUSES])
        return pd.DataFrame(owned, columns=list(CAUSES), index=steps["number"].to_numpy())


def unexplained(window: IntervalSet) -> Waterfall:
    """The waterfall that knows nothing of a window."""
    return Waterfall({"unexplained": window}, window)


class _Divider:
    """Takes parts of what is left and books them; what is booked is never seen again.

    What is booked is put together once, at the end: to add each part to all before it would cost their number squared.
    """

    def __init__(self, window: IntervalSet, booked: dict[str, list[IntervalSet]] | None = None) -> None:
        self.left = window
        self._booked = {} if booked is None else booked

    def take(self, cause: str, part: IntervalSet) -> None:
        mine = self.left & part
        if mine:
            self.left = self.left - mine
            self._booked.setdefault(cause, []).append(mine)

    def within(self, part: IntervalSet) -> _Divider:
        """Books a part of what is left on its own; what it leaves is given back with `give_back`."""
        return _Divider(self.left & part, self._booked)

    def give_back(self, parts: Iterable[_Divider]) -> None:
        """Goes on with what these left, which together were all of it."""
        self.left = IntervalSet.union(part.left for part in parts)

    def owners(self) -> dict[str, IntervalSet]:
        return {cause: IntervalSet.union(parts) for cause, parts in self._booked.items()}


def device_waterfall(
    trace: Trace,
    activity: DeviceActivity,
    launched: pd.DataFrame,
    work: pd.DataFrame,
    host: HostActivity,
    main: int | None,
    window: IntervalSet,
) -> Waterfall:
    """Divides the window of a trace with device work.

    Args:
        trace: The trace.
        activity: The device.
        launched: From `launches.launches`.
        work: From `launches.device_work`.
        host: Host activity.
        main: The main thread, from `host.main_thread`.
        window: What to divide.
    """
    divider = _Divider(window)
    divider.take("compute", activity.compute)
    divider.take("communication", activity.collective)
    divider.take("copy", activity.copy)
    idle = divider.left
    overhead = IntervalSet.of_rows(trace.overhead)
    divider.take("unexplained", overhead)
    refilled = _refilled(trace, activity.device)
    # Where no op was recorded, silence on a thread does not mean Python.
    between_ops = "python" if len(trace.ops) else "unexplained"
    gaps = _gaps_by_issuer(idle, activity.device, launched, work, main)
    divider.take("device_wait", gaps.waits)
    # Whoever launches: while the main thread waits for a batch, that is what the device waits for.
    if main is not None:
        divider.take("input", gaps.unknown & host.during("input", main))
    divider.take("unexplained", gaps.unknown)
    parts = {thread: divider.within(part) for thread, part in gaps.by_thread.items()}
    elsewhere = np.flatnonzero(launched["device"].to_numpy() != activity.device)
    launching = rows_by(launched["launch_thread"].to_numpy()[elsewhere])
    others = {thread: IntervalSet.of_rows(launched, elsewhere[rows]) for thread, rows in launching.items()}
    for thread, part in parts.items():
        if thread != main:
            _divide_by_thread(part, host, thread, refilled, others)
    divider.give_back(parts.values())
    if main is not None:
        _divide_by_thread(divider, host, main, refilled, others)
    divider.take(between_ops, divider.left)
    divider.take("unexplained", window)
    return Waterfall(divider.owners(), window)


def _divide_by_thread(
    divider: _Divider,
    host: HostActivity,
    thread: int,
    refilled: Int64Array,
    others: dict[int, IntervalSet],
) -> None:
    """Books what one thread is doing, first match wins.

    Args:
        divider: What is left.
        host: Host activity.
        thread: The thread.
        refilled: When the device has work again, sorted; see `_refilled`.
        others: What each thread launched on other devices.
    """
    during: Callable[[str], IntervalSet] = lambda what: host.during(what, thread)  # noqa: E731
    _take_collections(divider, host, thread)
    divider.take("input", during("input"))
    divider.take("allocator", during("allocator"))
    # A thread that waits for what it launched on another device: this one has its turn when that is done, whoever waits for it.
    divider.take("device_wait", during("blocking") & others.get(thread, EMPTY))
    blocking = during("blocking")
    divider.take("unexplained", during("unanswered"))
    divider.take("sync", blocking)
    # The run-ahead a wait destroyed: after it the host must issue again what it could have issued before. Only slices in which
    # the thread works for the device count, not what it does on its own account: Python, or ops that compute on the host.
    until = host.refilled_after(thread, refilled)
    caught_up = IntervalSet(blocking.end_ns, until)
    busy_issuing = _inside(divider.left & caught_up, during("ops"), during("calls")) - during("transfer_call")
    if busy_issuing:
        # Without the wait the host would have been as much earlier as it lasted: what takes longer than that is no wait's.
        divider.take("sync", no_more_than(blocking, busy_issuing - host.own_work(thread, caught_up), until))
    divider.take("transfer_call", during("transfer_call"))
    # An update may be compiled as the model is.
    divider.take("compile", during("compile"))
    divider.take("optimizer", during("optimizer"))
    divider.take("launch", during("launch"))
    # A call outside any op (a query, an event record) is host work for the device like an op's own.
    divider.take("framework", _inside(divider.left, during("ops"), during("calls"), during("collectives")))


def _refilled(trace: Trace, device: int) -> Int64Array:
    """Starts of kernels, and of copies behind so many that they are the work itself and no batch before it, sorted."""
    kernels, copies = (
        np.sort(frame["start_ns"].to_numpy()[frame["device"].to_numpy() == device], kind="stable")
        for frame in (trace.kernels, trace.copies)
    )
    before = np.searchsorted(kernels, copies)
    place = np.arange(len(copies)) - np.searchsorted(before, before)
    return np.sort(np.concatenate([kernels, copies[place >= _PARTS_OF_A_BATCH]]), kind="stable")


def _inside(part: IntervalSet, *sets: IntervalSet) -> IntervalSet:
    """What any of the sets holds of a part: of thousands of devices each has a small one, and the sets are the whole thread's."""
    return IntervalSet.union(part & one for one in sets)


def _take_collections(divider: _Divider, host: HostActivity, thread: int) -> None:
    """Books passes of the garbage collector, wherever it comes over the thread: a batch that holds one was not slow to load.

    Except while compiling, which makes what is collected then.
    """
    divider.take("python", host.during("gc", thread) - host.during("compile", thread))


class _Gaps(msgspec.Struct, frozen=True):
    """Idle time of a device, divided by the work that ends it.

    Args:
        by_thread: For each thread that issues some of that work, the time before its launch returned; of the main thread also
            the time behind the last work, for it tells what that went to.
        unknown: Before work whose launch is not known, and behind the last where there is no main thread.
        waits: After the launch returned.
    """

    by_thread: dict[int, IntervalSet]
    unknown: IntervalSet
    waits: IntervalSet


def _gaps_by_issuer(
    idle: IntervalSet, device: int, launched: pd.DataFrame, work: pd.DataFrame, main: int | None
) -> _Gaps:
    """Idle time by the thread that issues the work that ends it."""
    here = np.flatnonzero(work["device"].to_numpy() == device)
    starts = work["start_ns"].to_numpy()[here]
    following = np.searchsorted(starts, idle.end_ns, side="left")
    exists = following < len(starts)
    launch = np.full(len(work), NONE)
    launch[launched.index.to_numpy()] = np.arange(len(launched))
    launch = launch[here[np.minimum(following, len(starts) - 1)]]
    known = (launch != NONE) & exists
    issuer = np.append(launched["launch_thread"].to_numpy(), NONE)[launch]
    returned = np.append(launched["launch_end_ns"].to_numpy(), 0)[launch]
    # After the last work of the trace nothing is issued any more: the main thread tells what the time went to.
    last = ~exists & (main is not None)
    issuer[last], known = NONE if main is None else main, known | last
    start, end = idle.start_ns, idle.end_ns
    split = np.where(last, end, np.clip(returned, start, end))
    by_thread = {
        one: IntervalSet(start[known][rows], split[known][rows]) for one, rows in rows_by(issuer[known]).items()
    }
    return _Gaps(by_thread, IntervalSet(start[~known], end[~known]), IntervalSet(split[known], end[known]))


def host_waterfall(host: HostActivity, main: int | None, window: IntervalSet, among_ranks: IntervalSet) -> Waterfall:
    """Divides the window of a CPU-only trace by the step's thread; the device causes stay empty.

    Args:
        host: Host activity.
        main: The step's thread.
        window: What to divide.
        among_ranks: When that thread communicates or waits for others, from `among_ranks.among_ranks`.
    """
    divider = _Divider(window)
    if main is not None:
        _take_collections(divider, host, main)
        divider.take("input", host.during("input", main))
        divider.take("compile", host.during("compile", main))
        # An optimizer may send what it has updated (ZeRO).
        divider.take("communication", among_ranks)
        divider.take("optimizer", host.during("optimizer", main))
        divider.take("compute", host.during("ops", main))
        divider.take("python", window)
    divider.take("unexplained", window)
    return Waterfall(divider.owners(), window)
