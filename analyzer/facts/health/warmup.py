"""PG002 warm-up inside the window: start-up work that steady training does not repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analyzer.facts.grouping import chosen, rows_by
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.labels import codes_of, is_any, matching
from analyzer.intervals import EMPTY, IntervalSet
from analyzer.units import duration, share

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Calls that create what training then reuses.
_ONCE = re.compile(
    r"(?:cuda|hip)(?:Malloc|Free|HostAlloc|HostMalloc|StreamCreate|EventCreate|GetDeviceProperties|ModuleLoad|DeviceGetStreamPriority"
    r"|GetDeviceCount|FuncGetAttributes|GraphInstantiate|StreamBeginCapture|SetDevice|DriverEntryPoint)"
    r"|cu(?:ModuleLoad|LibraryLoad|Init|GetProcAddress|CtxCreate|DevicePrimaryCtx)"
)
# A launch this slow, or this many times the median, while the device idles loads its module; a slow launch beside a busy device
# waits for a full queue.
_SLOW_LAUNCH_NS = 50_000_000
_SLOW_LAUNCH_TIMES = 100
# Share of the window from which warm-up distorts the other figures (rules.md PG002).
WARMUP_SHARE = 0.05


def warmup_time(facts: Facts) -> tuple[IntervalSet, int]:
    """Time of start-up calls inside the used steps, and how many there are; without step marks, in the whole recording.

    Calls that occur in more than half of at least three used steps are no warm-up but a habit, and belong to other rules.
    """
    calls = facts.trace.runtime
    once = chosen(calls, matching(calls["name"], _ONCE.match))
    launching, dur = is_any(calls["kind"], "launch", "graph_launch"), calls["dur_ns"].to_numpy()
    limit = _SLOW_LAUNCH_TIMES * float(np.median(dur[launching])) if launching.any() else 0.0
    slow = chosen(calls, launching & (dur >= max(min(_SLOW_LAUNCH_NS, limit), 1)))
    window = facts.window() if facts.steps.marked else facts.window(raw=True)
    busy = facts.device.busy if facts.device else EMPTY
    slow_idle = IntervalSet(slow["start_ns"].to_numpy(), slow["end_ns"].to_numpy()) - busy
    ranges, overhead = facts.trace.annotations, facts.trace.overhead
    compiling = chosen(ranges, is_any(ranges["kind"], "compile"))
    lazy = chosen(overhead, matching(overhead["name"], lambda name: "Lazy Function Loading" in name))
    total, number = slow_idle, len(slow)
    for frame in (once, compiling, lazy):
        frame = _not_habitual(facts, frame)
        total |= IntervalSet(frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())
        number += len(frame)
    return total & window, number


def _not_habitual(facts: Facts, frame: pd.DataFrame) -> pd.DataFrame:
    used = facts.steps.used
    if not facts.steps.marked:
        return frame
    if len(used) < 3 or not len(frame):
        return frame
    start, end = frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()
    keep = np.zeros(len(frame), dtype=bool)
    for rows in rows_by(codes_of(frame["name"]).astype(np.int64)).values():
        spans = IntervalSet(start[rows], end[rows])
        seen = int((spans.overlap_with(used["start_ns"].to_numpy(), used["end_ns"].to_numpy()) > 0).sum())
        keep[rows] = seen <= len(used) / 2
    return frame[keep]


def check(facts: Facts) -> Iterator[Symptom]:
    """Warm-up that takes at least 5 % of the window."""
    time, number = facts.warmup
    whole = facts.window(raw=not facts.steps.marked).total_ns
    ratio = time.total_ns / whole if whole else 0.0
    if ratio >= WARMUP_SHARE:
        yield Symptom(
            "PG002",
            Gravity.CAUTION,
            f"Warm-up is inside the recording: {duration(time.total_ns)} ({share(ratio)}) in {number:,} start-up calls.",
            "record later: schedule(wait=5, warmup=2, active=6, repeat=1)",
            number,
            ratio,
            passes=True,
        )
