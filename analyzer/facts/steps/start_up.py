"""Start-up work told from a habit by what each step does: start-up is what later steps do not repeat.

Steady training is what the second half of the steps does. A step of the first half that spends much more in some call than any of
those starts something up; so does the only step of all that spends anything worth naming. What recurs is the program's habit, and
other rules look at it. With one or two steps nothing says what is steady: there a cache that only grows is being filled, and memory
that is given back as often as it is taken, all through the time, is a habit.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.device.captures import capturing_calls
from analyzer.facts.steps.index import position_of
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import chosen, numbered
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, is_any, matching
from traces.patterns import Pattern
from traces.trace import Trace

# Calls that create what training then reuses.
_ONCE = Pattern(
    r"(?:cuda|hip)(?:Malloc|Free|HostAlloc|HostMalloc|StreamCreate|EventCreate|GetDeviceProperties|ModuleLoad|DeviceGetStreamPriority"
    r"|GetDeviceCount|FuncGetAttributes|GraphInstantiate|StreamBeginCapture|SetDevice|DriverEntryPoint)"
    r"|cu(?:ModuleLoad|LibraryLoad|Init|GetProcAddress|CtxCreate|DevicePrimaryCtx)"
)
_GIVES_BACK = Pattern(r"[A-Za-z]*(?:Free|Unmap|Release|Unregister)")
# Beyond what equal work differs by from step to step: recorded steady steps differ by less than half.
_TIMES = 2.0
# With fewer steps nothing says what is steady.
_MIN_STEPS = 3
# Where there are no steps to compare, as many equal parts of the time: what more than half of them hold goes on all through it.
_PARTS = 10
# Calls that give memory back, for each that takes some: filling a cache has none.
_GIVEN_BACK = 0.5


def once_calls(trace: Trace) -> BoolArray:
    """Which runtime calls create or allocate something that is then reused, shape (calls,)."""
    calls = trace.runtime
    found = matching(calls["name"], _ONCE.match) | is_any(calls["kind"], "allocator")
    return found & ~capturing_calls(trace)


def loads_lazily(trace: Trace) -> BoolArray:
    """Which of the profiler's overhead events are modules that the program loads on demand, shape (overhead,)."""
    return matching(trace.overhead["name"], lambda name: "Lazy Function Loading" in name)


def starting(frame: pd.DataFrame, begin_ns: Int64Array, end_ns: Int64Array) -> BoolArray:
    """Which events are start-up work and no habit, judged name by name; shape (rows,). Those outside the steps are not.

    Args:
        frame: Events with name, start_ns and dur_ns.
        begin_ns: Start of each step on the host, sorted, shape (n,).
        end_ns: End of each step on the host, shape (n,).
    """
    if not len(frame) or not len(begin_ns):
        return np.zeros(len(frame), dtype=bool)
    at, dur = frame["start_ns"].to_numpy(), frame["dur_ns"].to_numpy()
    names = codes_of(frame["name"]).astype(np.int64)
    if len(begin_ns) >= _MIN_STEPS:
        return _passing(names, position_of(at, begin_ns, end_ns), dur, len(begin_ns))
    inside = position_of(at, begin_ns, end_ns) >= 0
    return inside & ~_made_throughout(frame, names, begin_ns, end_ns)


def start_up_ns(trace: Trace, begin_ns: Int64Array, end_ns: Int64Array, step: int) -> int:
    """How long start-up work goes on in one step: calls that create something, compiling, modules loaded on demand.

    Args:
        trace: The trace.
        begin_ns: Start of each step on the host, sorted, shape (n,).
        end_ns: End of each step on the host, shape (n,).
        step: Position of the step.
    """
    ranges = chosen(trace.annotations, is_any(trace.annotations["kind"], "compile"))
    found = EMPTY
    for frame in (chosen(trace.runtime, once_calls(trace)), ranges, chosen(trace.overhead, loads_lazily(trace))):
        frame = chosen(frame, starting(frame, begin_ns, end_ns))
        found |= IntervalSet.of_rows(frame)
    return found.clip(int(begin_ns[step]), int(end_ns[step])).total_ns


def _spent(names: Int64Array, part: Int64Array, dur_ns: Int64Array, parts: int) -> tuple[Int64Array, Int64Array]:
    """Nanoseconds by name and part, shape (names, parts), and the row of it that each event belongs to; events lie in parts."""
    group, groups = numbered(names)
    spent = np.zeros((groups, parts), dtype=np.int64)
    np.add.at(spent, (group, part), dur_ns)
    return spent, group


def _passing(names: Int64Array, step: Int64Array, dur_ns: Int64Array, steps: int) -> BoolArray:
    """Which events belong to a step that does much more of their kind than the steady ones, shape (rows,)."""
    rows = np.flatnonzero(step >= 0)
    spent, group = _spent(names[rows], step[rows], dur_ns[rows], steps)
    half = steps // 2
    early = np.arange(steps) < half
    passes = early & (spent > _TIMES * spent[:, half:].max(axis=1, initial=0)[:, None])
    passes |= spent > _TIMES * _most_of_others(spent)
    found = np.zeros(len(names), dtype=bool)
    found[rows] = passes[group, step[rows]]
    return found


def _most_of_others(spent: Int64Array) -> Int64Array:
    """For each name and step the most that any other step spends, same shape."""
    ordered = np.sort(spent, axis=1)
    largest, second = ordered[:, -1:], ordered[:, -2:-1]
    return np.where(spent == largest, second, largest)


def _made_throughout(frame: pd.DataFrame, names: Int64Array, begin_ns: Int64Array, end_ns: Int64Array) -> BoolArray:
    """Which calls take and give back memory all through one or two steps, or a whole recording; shape (rows,)."""
    memory = is_any(frame["kind"], "allocator") if "kind" in frame else np.zeros(len(frame), dtype=bool)
    back = memory & matching(frame["name"], _GIVES_BACK.match)
    edges = np.linspace(begin_ns[0], end_ns[-1], _PARTS + 1).astype(np.int64)
    part = position_of(frame["start_ns"].to_numpy(), edges[:-1], edges[1:])
    rows = np.flatnonzero(memory & (part >= 0))
    habit = np.zeros(len(frame), dtype=bool)
    if not len(rows) or back[rows].sum() < _GIVEN_BACK * (~back[rows]).sum() or not (~back[rows]).any():
        return habit
    dur = frame["dur_ns"].to_numpy()
    spent, group = _spent(names[rows], part[rows], dur[rows], _PARTS)
    throughout = (spent > 0).sum(axis=1) > _PARTS / 2
    habit[rows] = throughout[group] & ~_passing(names[rows], part[rows], dur[rows], _PARTS)
    return habit
