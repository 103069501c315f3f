"""PG002 warm-up inside the window: start-up work that steady training does not repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.complete.repairs import recorded_later
from analyzer.facts.health.steps import warmup
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.steps.find import Steps
from analyzer.facts.steps.start_up import loads_lazily, once_calls, starting
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any
from analyzer.units import duration, share
from traces.trace import Trace

# A launch this slow, or this many times the median, while the device idles loads its module; a slow launch beside a busy device
# waits for a full queue.
_SLOW_LAUNCH_NS = 50_000_000
_SLOW_LAUNCH_TIMES = 100
# Share of the window from which warm-up distorts the other figures (rules.md PG002).
WARMUP_SHARE = 0.05


class WarmUp(NamedTuple):
    """Start-up work inside the used steps.

    Args:
        time: When it goes on.
        number: Calls, ranges and slow launches.
        calls: Which runtime calls are among them, shape (calls,); slow launches are not.
    """

    time: IntervalSet
    number: int
    calls: npt.NDArray[np.bool_]


def warmup_time(trace: Trace, device: DeviceFacts, steps: Steps) -> WarmUp:
    """Start-up work inside the used steps, told from habits by what each of them does; see `start_up.starting`."""
    calls = trace.runtime
    once = once_calls(trace)
    launching, dur = is_any(calls["kind"], "launch", "graph_launch"), calls["dur_ns"].to_numpy()
    limit = _SLOW_LAUNCH_TIMES * float(np.median(dur[launching])) if launching.any() else 0.0
    slow = chosen(calls, launching & (dur >= max(min(_SLOW_LAUNCH_NS, limit), 1)))
    window = steps.window
    busy = device.main.busy if device.main else EMPTY
    ranges, overhead = trace.annotations, trace.overhead
    compiling = chosen(ranges, is_any(ranges["kind"], "compile"))
    lazy = chosen(overhead, loads_lazily(trace))
    used = steps.used
    begin, end = used["host_start_ns"].to_numpy(), used["host_end_ns"].to_numpy()
    found = np.zeros(len(calls), dtype=bool)
    found[np.flatnonzero(once)] = starting(chosen(calls, once), begin, end)
    slow = chosen(slow, starting(slow, begin, end))
    total = IntervalSet.of_rows(slow) - busy
    number = len(slow)
    for frame in (chosen(calls, found), *(chosen(part, starting(part, begin, end)) for part in (compiling, lazy))):
        total |= IntervalSet.of_rows(frame)
        number += len(frame)
    return WarmUp(total & window, number, found)


def check(trace: Trace, steps: Steps, warmup: warmup.WarmUp) -> Iterator[Symptom]:
    """Warm-up that takes at least 5 % of the used steps."""
    time, number, _ = warmup
    ratio = steps.ratio(time.total_ns)
    if ratio >= WARMUP_SHARE:
        yield Symptom(
            "PG002",
            Gravity.CAUTION,
            f"Warm-up is inside the recording: {duration(time.total_ns)} ({share(ratio)}) in {number:,} start-up calls.",
            recorded_later(trace),
            number,
            ratio,
            passes=True,
            time=time,
        )
    elif not steps.marked:
        yield from _before(trace, steps)


def _before(trace: Trace, steps: Steps) -> Iterator[Symptom]:
    """Start-up work that was recorded without marks and lies in no used step: worth knowing, and in no figure."""
    raw = steps.raw_window
    calls = chosen(trace.runtime, once_calls(trace))
    outside = (IntervalSet.of_rows(calls) & raw) - steps.window
    ratio = outside.total_ns / raw.total_ns if raw else 0.0
    if ratio >= WARMUP_SHARE:
        yield Symptom(
            "PG002",
            Gravity.NOTE,
            f"Start-up calls take {duration(outside.total_ns)} ({share(ratio)}) of the recording, none of it in the steps that are "
            "used.",
            recorded_later(trace),
            len(calls),
            ratio,
        )
