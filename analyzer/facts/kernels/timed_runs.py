"""Kernels that are timed inside steps: an autotuner runs each of its configurations again and again, with a cleared cache.

Triton's `autotune` measures by `triton.testing.do_bench`: for each configuration it compiles the kernel, and runs it for some
100 ms: a buffer as large as the L2 cache is zeroed (`aten::zero_`), two events are recorded, and between them the kernel is
launched, by no op.

Source: triton `python/triton/testing.py`, `do_bench`, and `runtime/autotuner.py`.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.ops import OpTree, pick, pick_row
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching
from analyzer.spans.open_spans import NONE
from analyzer.spans.repeats import repeated_runs
from traces.patterns import Pattern
from traces.trace import Trace

# Runs of one kernel in a row from which they are measured: what computes does not clear memory before each of ten equal kernels.
_RUNS = 10
# A buffer cleared, a kernel launched; between two events.
_PERIOD = 2
_EVENT = Pattern(r"EventRecord")
_CLEARING = "aten::zero_"


class TimedRuns(msgspec.Struct, frozen=True):
    """Runs by which an autotuner measures kernels, in the used steps.

    Args:
        runs: How many there are.
        kernel: The kernel that most of them are of; empty without any.
        host: When the host makes them, and compiles the next configuration between.
        spans: The device's time for them, and idle time meanwhile.
        steps_seen: Used steps with such runs.
        first_only: Whether they all lie in the first used step.
    """

    runs: int = 0
    kernel: str = ""
    host: IntervalSet = EMPTY
    spans: IntervalSet = EMPTY
    steps_seen: int = 0
    first_only: bool = False


def timed_runs(trace: Trace, device: DeviceFacts, tree: OpTree, steps: Steps, idle: IntervalSet) -> TimedRuns:
    """Finds rows of `aten::zero_` with a kernel of one name behind each that no op launches.

    Args:
        trace: The trace.
        device: Work of the devices with its launches.
        tree: The ops.
        steps: The steps.
        idle: When the device does nothing.
    """
    clearing = tree.named(lambda name: name == _CLEARING)
    launched = device.launched
    if clearing.sum() < _RUNS or not len(launched):
        return TimedRuns()
    told = _told(trace, launched, tree, clearing)
    runs = repeated_runs(told["code"].to_numpy(), told["thread"].to_numpy(), min_repeats=_RUNS, max_period=_PERIOD)
    runs = runs.at(runs.period == _PERIOD)
    op = told["op"].to_numpy()
    free, cleared = op == NONE, pick(clearing, op)
    begins = [runs.first + place for place in range(_PERIOD)]
    alike = np.logical_or.reduce([free[place] for place in begins]) & np.logical_or.reduce(
        [cleared[place] for place in begins]
    )
    first, repeats = begins[0][alike], runs.repeats[alike]
    last = first + _PERIOD * repeats - 1
    recorded = _events(trace, told, first, last) >= repeats - 1
    first, last, repeats = first[recorded], last[recorded], repeats[recorded]
    if not len(first):
        return TimedRuns()
    at = told["at"].to_numpy()
    begin, end = at[first], _waited(trace, told, last)
    host = IntervalSet(begin, np.where(_goes_on(told, first, last), np.append(begin[1:], 0), end)) & steps.host_window
    timed = host.contains(launched["launch_start_ns"].to_numpy())
    step = steps.of_host(begin)
    seen = np.unique(step[step >= 0])
    names = told["name"].to_numpy()[np.where(free[first], first, first + 1)]
    return TimedRuns(
        runs=int(repeats.sum()),
        kernel=str(pd.Series(repeats).groupby(names).sum().idxmax()),
        host=host,
        spans=(IntervalSet.of_rows(launched, timed) | (idle & host)) & steps.window,
        steps_seen=len(seen),
        first_only=bool(len(seen)) and not seen.any(),
    )


def _told(trace: Trace, launched: pd.DataFrame, tree: OpTree, clearing: BoolArray) -> pd.DataFrame:
    """Ops outside clearings, and launches that are not theirs, by thread and time: columns thread, at, code, name, op (or NONE)."""
    ops = tree.ops
    under = tree.nearest(clearing)
    shown = np.flatnonzero((under == NONE) | (under == np.arange(len(ops))))
    kernels = launched[is_any(launched["source"], "kernels")]
    thread, at = kernels["launch_thread"].to_numpy(), kernels["launch_start_ns"].to_numpy().astype(np.int64)
    free = pick_row(under, tree.enclosing(thread, at)) == NONE
    names = trace.kernels["name"].astype("str").to_numpy()[kernels["row"].to_numpy()[free]]
    kinds = pd.Categorical(names)
    count = len(distinct_texts(ops["name"]))
    told = pd.DataFrame(
        {
            "thread": np.concatenate([ops["thread"].to_numpy()[shown], thread[free]]),
            "at": np.concatenate([ops["start_ns"].to_numpy()[shown], at[free]]),
            "code": np.concatenate([codes_of(ops["name"])[shown], kinds.codes.astype(np.int64) + count]),
            "name": np.concatenate([np.full(len(shown), "", dtype=object), names]),
            "op": np.concatenate([shown, np.full(int(free.sum()), NONE)]),
        }
    )
    return told.sort_values(["thread", "at"], kind="stable", ignore_index=True)


def _events(trace: Trace, told: pd.DataFrame, first: Int64Array, last: Int64Array) -> Int64Array:
    """How many events are recorded in each row of runs, shape (rows,)."""
    calls = trace.runtime[matching(trace.runtime["name"], _EVENT.search)]
    found = np.zeros(len(first), dtype=np.int64)
    thread, at = told["thread"].to_numpy(), told["at"].to_numpy()
    for one in np.unique(thread[first]).tolist():
        mine = thread[first] == one
        times = np.sort(calls["start_ns"].to_numpy()[calls["thread"].to_numpy() == one])
        found[mine] = np.searchsorted(times, at[last[mine]]) - np.searchsorted(times, at[first[mine]])
    return found


def _waited(trace: Trace, told: pd.DataFrame, last: Int64Array) -> Int64Array:
    """When each row ends: with the wait for its last run, where one follows before anything else; shape (rows,)."""
    thread, at = told["thread"].to_numpy(), told["at"].to_numpy()
    following = np.minimum(last + 1, len(at) - 1)
    until = np.where((following > last) & (thread[following] == thread[last]), at[following], np.iinfo(np.int64).max)
    found = at[last] + 1
    calls = trace.runtime[is_any(trace.runtime["kind"], "sync")].sort_values("start_ns")
    for one in np.unique(thread[last]).tolist():
        mine = np.flatnonzero(thread[last] == one)
        waits = calls[calls["thread"].to_numpy() == one]
        place = np.searchsorted(waits["start_ns"].to_numpy(), at[last[mine]])
        mine, place = mine[place < len(waits)], place[place < len(waits)]
        follows = waits["start_ns"].to_numpy()[place] < until[mine]
        found[mine[follows]] = waits["end_ns"].to_numpy()[place[follows]]
    return found


def _goes_on(told: pd.DataFrame, first: Int64Array, last: Int64Array) -> BoolArray:
    """Behind which rows the next begins with hardly another op between: the next configuration is compiled; shape (rows,)."""
    thread = told["thread"].to_numpy()
    following = np.append(first[1:], 0)
    near = following - last <= _RUNS
    goes_on: BoolArray = (following > last) & near & (thread[following] == thread[last])
    return goes_on
