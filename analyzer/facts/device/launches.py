"""Device work joined with the call that launched it.

Joined on `correlation`, never on flow events (missing for LaunchKernelExC before kineto PR 788) nor on `External id` (equal to the
correlation in torch 1.13-2.2; where it stands in place of one, reading has taken it for that). One graph launch has many kernels:
they share its call.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.captures import captured_launches
from analyzer.facts.device.ids import ids_of
from analyzer.spans.arrays import BoolArray, Int64Array, narrow
from analyzer.spans.grouping import distinct
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import column, is_any, matching
from analyzer.spans.open_spans import NONE
from traces.fixed_frame import FixedFrame
from traces.ordering import found_in
from traces.reader.columns.growing import thrifty
from traces.reader.names.vocabulary import is_device_wait
from traces.trace import Trace

# Columns of a piece of device work that every caller needs, beside its correlation.
_WORK = ("start_ns", "dur_ns", "end_ns", "device", "stream")
# Vocabularies, for columns that can be joined and compared by number.
_KINDS = ("compute", "collective", "memset", "copy", "wait")
_SOURCES = ("kernels", "copies")
# Kinds of calls that put work on the device.
LAUNCHING = ("launch", "graph_launch", "memcpy", "memset")
# In 14 real traces no kernel starts before its launch call: a few that do are wrong ids, more of them are two clocks.
_EARLY_RATIO = 0.05
# From this share of launches that outlast their kernel on, launches wait (SY005), and the lead says nothing about the host.
BLOCKING_RATIO = 0.5
_MIN_EARLY = 5
# Causes of idle time that are wrong for no more than this share of it are as good as those of clocks that agree.
_WRONG_RATIO = 0.1


def device_work(trace: Trace) -> pd.DataFrame:
    """All device work of the trace, sorted by start.

    Returns:
        Columns start_ns, dur_ns, end_ns, device, stream, correlation (Int64), kind (`compute`, `collective`, `memset`, `copy`, or
        `wait` where a queue only waits), source (`kernels` or `copies`) and row (position in that frame).
    """
    parts = (trace.kernels, trace.copies)
    columns = {name: np.concatenate([part[name].to_numpy() for part in parts]) for name in _WORK}
    order = np.lexsort((columns["end_ns"], columns["start_ns"]))
    kinds = np.concatenate(
        [
            np.where(
                matching(trace.kernels["name"], is_device_wait),
                _KINDS.index("wait"),
                _either(trace.kernels["collective"].to_numpy(), "collective", "compute"),
            ),
            _either(is_any(trace.copies["direction"], "memset"), "memset", "copy"),
        ]
    )
    ids, known = (np.concatenate(found) for found in zip(*(ids_of(part) for part in parts), strict=True))
    return FixedFrame(
        {
            # One device, often one stream: in the memory of one number.
            **{name: thrifty(values[order]) for name, values in columns.items()},
            "correlation": pd.arrays.IntegerArray(ids[order], ~known[order]),
            "kind": column(kinds[order], _KINDS).array,
            "source": column(np.repeat([0, 1], [len(part) for part in parts])[order], _SOURCES).array,
            "row": narrow(np.concatenate([np.arange(len(part)) for part in parts])[order]),
        },
        copy=False,
    )


def _either(condition: BoolArray, then: str, otherwise: str) -> Int64Array:
    return np.where(condition, _KINDS.index(then), _KINDS.index(otherwise))


def from_source(work: pd.DataFrame, source: str) -> BoolArray:
    """Which rows of device work come from `kernels`, or from `copies`; shape (rows,)."""
    return is_any(work["source"], source)


def by_kernel_launch(launched: pd.DataFrame) -> BoolArray:
    """Which rows of `launches` are kernels that a call launched one by one: no copies, no graphs; shape (rows,)."""
    return from_source(launched, "kernels") & is_any(launched["launch_kind"], "launch")


def launches(trace: Trace, work: pd.DataFrame) -> pd.DataFrame:
    """Device work whose launch call is in the trace.

    Args:
        trace: The trace.
        work: From `device_work`.

    Returns:
        The rows of `work` that have a launch, index kept, with the columns launch_row (row in `trace.runtime`), launch_start_ns,
        launch_end_ns, launch_thread, launch_kind and shared (several kernels share the call: a graph).
    """
    calls = trace.runtime
    called_ids, rows = _distinct_calls(calls)
    ids, _ = ids_of(work)
    # No call has the id 0, which stands for none.
    place, there = found_in(called_ids, ids)
    found = np.flatnonzero(there)
    place, row = place[found], rows[place[found]]
    # Most traces hold the launch of all work: its columns are the same then.
    here = work if len(found) == len(work) else work.iloc[found]
    sharing = np.bincount(place[from_source(work, "kernels")[found]], minlength=len(called_ids))
    return FixedFrame(
        {
            **{name: here[name].array for name in work.columns},
            "launch_row": narrow(row),
            "launch_start_ns": calls["start_ns"].to_numpy()[row],
            "launch_end_ns": calls["end_ns"].to_numpy()[row],
            "launch_thread": thrifty(narrow(calls["thread"].to_numpy()[row])),
            "launch_kind": calls["kind"].array[row],
            "shared": sharing[place] > 1,
        },
        index=found if here is not work else work.index,
        copy=False,
    )


def _distinct_calls(calls: pd.DataFrame) -> tuple[Int64Array, Int64Array]:
    """Every id of a call once, in order, and the row of its call; of a reused id the launching call, not the query beside it."""
    ids, _ = ids_of(calls)
    order = np.lexsort((is_any(calls["kind"], "other"), ids))
    ids = ids[order]
    first = np.append(True, ids[1:] != ids[:-1])[: len(ids)] & (ids != 0)
    return ids[first], order[first]


def launches_with_work(trace: Trace, work: pd.DataFrame) -> tuple[Int64Array, BoolArray]:
    """When each launch of a kernel that has an id begins, and whether work with its id was recorded; shape (launches,) both.

    What a graph's capture takes in runs where the graph is replayed: no work of these launches is missing.

    Args:
        trace: The trace.
        work: From `device_work`, or `launches`.
    """
    ids, known = ids_of(trace.runtime)
    rows = is_any(trace.runtime["kind"], "launch") & known & ~captured_launches(trace)
    done, stated = ids_of(work)
    # Some recorders write 0 into all calls: whether work has that id is asked like any other.
    _, there = found_in(distinct(done[stated]), ids[rows])
    return trace.runtime["start_ns"].to_numpy()[rows], there


def copies_of_calls(launched: pd.DataFrame, chosen: BoolArray, calls: int) -> Int64Array:
    """The first copy each call starts, as its position in `launches`; -1 for a call that starts none. Shape (calls,).

    Args:
        launched: From `launches`.
        chosen: Which of its rows count, all of them copies.
        calls: How many calls `trace.runtime` has.
    """
    found = np.full(calls, NONE)
    mine = np.flatnonzero(chosen)[::-1]
    found[launched["launch_row"].to_numpy()[mine]] = mine
    return found


class LaunchCalls(msgspec.Struct, frozen=True):
    """The launch call of each of some kernels, or copies.

    Args:
        known: Whether it is in the trace, shape (rows,); what the others, of the same shape, hold means something only there.
        row: Its row in `trace.runtime`.
        thread: Its thread.
        start_ns: When it begins.
        end_ns: When it returns.
        shared: Whether several kernels share it.
    """

    known: BoolArray
    row: Int64Array
    thread: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    shared: BoolArray


def calls_of(launched: pd.DataFrame, source: str, rows: Int64Array, total: int) -> LaunchCalls:
    """Looks up launch calls.

    Args:
        launched: From `launches`.
        source: `kernels` or `copies`.
        rows: Rows of that frame.
        total: How many it has.
    """
    mine = np.flatnonzero(from_source(launched, source))
    place = np.full(total, NONE)
    place[launched["row"].to_numpy()[mine]] = mine
    at = place[rows]
    row, thread, start, end = (
        np.append(launched[f"launch_{name}"].to_numpy(), 0)[at] for name in ("row", "thread", "start_ns", "end_ns")
    )
    return LaunchCalls(at != NONE, row, thread, start, end, np.append(launched["shared"].to_numpy(), False)[at])


def leads_ns(launched: pd.DataFrame) -> Int64Array:
    """Start of each piece of work less the end of its call: negative where the call outlasts the start, or clocks are skewed."""
    leads: Int64Array = launched["start_ns"].to_numpy() - launched["launch_end_ns"].to_numpy()
    return leads


def lead_median_ns(launched: pd.DataFrame, skew_ns: int = 0) -> int | None:
    """Median launch lead of kernels launched one by one, nanoseconds; None where there is none.

    Small (2-5 us on CUDA, 10-18 us on ROCm) means the device waits for each launch; large means a filled queue (rules.md 0.4).
    0 where kernels start before their call returns. Graph launches are left out: their kernels say nothing about the host.

    Args:
        launched: Rows of `launches` to look at.
        skew_ns: By how much the device's clock is known to be behind the host's.
    """
    leads = leads_ns(launched)[from_source(launched, "kernels") & ~launched["shared"].to_numpy()]
    return max(int(np.median(leads)) + skew_ns, 0) if len(leads) else None


class EarlyStarts(msgspec.Struct, frozen=True):
    """Kernels that seem to start before their launch is called: no device can, so host and device do not share a clock.

    Args:
        kernels: How many do.
        launched: Kernels with a launch call.
        by_ns: By how much they start too early, median.
        most_ns: The same of all but the twentieth that starts earliest, whose ids may be wrong: the clocks differ by no less.
    """

    kernels: int
    launched: int
    by_ns: int
    most_ns: int


def early_starts(launched: pd.DataFrame) -> EarlyStarts | None:
    """Counts kernels that start before their launch is called; None where they are too few to mean anything.

    Args:
        launched: Rows of `launches` to look at.
    """
    kernels = from_source(launched, "kernels")
    number = int(kernels.sum())
    ahead = (launched["launch_start_ns"].to_numpy() - launched["start_ns"].to_numpy())[kernels]
    ahead = ahead[ahead > 0]
    if len(ahead) < _MIN_EARLY or len(ahead) <= _EARLY_RATIO * number:
        return None
    return EarlyStarts(len(ahead), number, int(np.median(ahead)), int(np.quantile(ahead, 1 - _EARLY_RATIO)))


def skew_matters(early: EarlyStarts | None, idle: IntervalSet) -> bool:
    """Whether what clocks differ by is much beside the gaps of the device, whose causes rest on both.

    Each gap is attributed wrongly for as long as the clocks differ, and no longer than it lasts.

    Args:
        early: From `early_starts`.
        idle: When the device idles.
    """
    if early is None:
        return False
    wrong = np.minimum(idle.end_ns - idle.start_ns, early.most_ns).sum()
    return bool(wrong > _WRONG_RATIO * idle.total_ns) or not idle


class BlockingLaunches(msgspec.Struct, frozen=True):
    """How many launches outlast their kernel.

    Args:
        launches: Launches of single kernels looked at, without those whose kernel seems to start before the call (skewed clocks).
        outlasting: Those that end no earlier than their kernel.
    """

    launches: int
    outlasting: int

    @property
    def ratio(self) -> float:
        """Share of launches that outlast their kernel; 0 without launches."""
        return self.outlasting / self.launches if self.launches else 0.0


def blocking_launches(launched: pd.DataFrame, skew_ns: int = 0) -> BlockingLaunches:
    """Counts launches that return only after their kernel ended.

    Args:
        launched: Rows of `launches` to look at.
        skew_ns: By how much the device's clock is known to be behind the host's.
    """
    single = by_kernel_launch(launched) & ~launched["shared"].to_numpy()
    single &= launched["start_ns"].to_numpy() + skew_ns >= launched["launch_start_ns"].to_numpy()
    outlasting = single & (launched["launch_end_ns"].to_numpy() >= launched["end_ns"].to_numpy() + skew_ns)
    return BlockingLaunches(int(single.sum()), int(outlasting.sum()))
