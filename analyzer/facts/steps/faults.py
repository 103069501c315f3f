"""Steps that the recording spoilt: what was lost of them, and what the profiler added.

Kernels lost, graph replays recorded in part, the first collective of the profiler's start. So is one that holds a whole other
loop, such as an evaluation: a mean over it is of nothing that happens. They are left out of all figures with their reason, as long
as sound steps remain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.device.launches import calls_of, launches_with_work
from analyzer.facts.device.replays import graph_replays
from analyzer.facts.steps.index import counts, position_of
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import chosen
from analyzer.spans.labels import codes_of, is_any, matching
from analyzer.units import count, duration
from traces.reader.names.autograd import BACKWARD_NODE
from traces.trace import Trace

# Fewer launches say nothing about how many kernels a step lost.
_MIN_LAUNCHES = 5
# A step that lost this share of its kernels is left out where another lost less than a tenth.
_LOST_RATIO = 0.5
_SOUND_RATIO = 0.1
# The first collective of a recording spins until the other ranks' profilers run, too.
_SPIN_TIMES = 10
# Of collectives of one name the longer ones say what is usual: those that are shorter may be another message.
_USUAL_LENGTH = 0.9
_SPIN_STEP_RATIO = 0.5
_MIN_COLLECTIVES = 3

LOST = "lost kernels"
PARTIAL = "graph recorded in part"
SPIN = "profiler start"
ANOTHER_LOOP = "holds another loop"
# A loop that is known by these and not only by its ops has a loader of its own.
BATCHES = "batches"

# A step that draws so many times as many batches as most do, and at least so many more, holds a loop of its own. Accumulated
# gradients differ by a few at the end of an epoch, and batches in a second or two are no evaluation.
_BATCHES_TIMES = 5
# As long as a step of the whole run must be to hold work of another kind (`analyzer/facts/recording/run_course.py`).
_LONG_TIMES = 3
# As many times the ops of most steps, at no more than so many times their nodes of the backward pass, are passes that train
# nothing: an evaluation of tensors that no loader gives. Longer sequences change both alike.
_OPS_TIMES = 3
_SAME_BACKWARD_TIMES = 1.5
# Fewer ops more are no pass of a model.
_MIN_MORE_OPS = 50
# What more steps than these do is what the program's steps are.
_SELDOM_RATIO = 0.25
# Nor is it seldom what comes back so often and takes most of the recorded time: rollouts between bursts of updates.
_RHYTHM = 3
_MOST_RATIO = 0.5


def faults(trace: Trace, launched: pd.DataFrame, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    """What spoilt each step, by its position; only steps beside sound ones are named.

    Args:
        trace: The trace.
        launched: From `launches.launches`.
        host_start: Start of each step on the host, sorted, shape (n,).
        host_end: End of each step on the host, shape (n,).
    """
    if len(host_start) < 2:
        return {}
    found = another_loop(trace, host_start, host_end)
    found |= _lost(trace, launched, host_start, host_end)
    found |= _partial(trace, launched, host_start, host_end)
    found |= _spin(trace, launched, host_start, host_end)
    return found if len(found) < len(host_start) else {}


def another_loop(trace: Trace, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    """Steps that draw many times as many batches as the others, or run their model more often, and take longer, by position.

    Args:
        trace: The trace.
        host_start: Start of each step on the host, sorted, shape (n,).
        host_end: End of each step on the host, shape (n,).
    """
    durations = host_end - host_start
    long = durations >= _LONG_TIMES * np.median(durations)
    if not long.any():
        return {}
    ranges = trace.annotations
    batches = counts(ranges["start_ns"].to_numpy()[is_any(ranges["kind"], "loader")], host_start, host_end)
    usual = float(np.median(batches))
    drawn = long & (batches >= _BATCHES_TIMES * usual) & (batches >= usual + _BATCHES_TIMES)
    ops = counts(trace.ops["start_ns"].to_numpy(), host_start, host_end)
    passes = long & _trains_nothing(trace, ops, host_start, host_end)
    other = drawn | passes
    if other.sum() > _SELDOM_RATIO * len(host_start):
        return {}
    if other.sum() >= _RHYTHM and durations[other].sum() > _MOST_RATIO * durations.sum():
        return {}
    found = {index: f"{ops[index]:,} ops, {np.median(ops):,.0f}" for index in np.flatnonzero(passes).tolist()}
    found |= {index: f"{batches[index]:,} {BATCHES}, {usual:,.0f}" for index in np.flatnonzero(drawn).tolist()}
    return {index: f"{ANOTHER_LOOP}: {what} in most steps" for index, what in found.items()}


def _trains_nothing(
    trace: Trace, ops: Int64Array, host_start: Int64Array, host_end: Int64Array
) -> npt.NDArray[np.bool_]:
    """Whether each step has many more ops than most, and no more of the backward pass; never where nothing trains.

    Args:
        trace: The trace.
        ops: Ops of each step, shape (n,).
        host_start: Start of each step on the host, sorted, shape (n,).
        host_end: End of each step on the host, shape (n,).
    """
    node = matching(trace.ops["name"], lambda name: name.startswith(BACKWARD_NODE))
    nodes = counts(trace.ops["start_ns"].to_numpy()[node], host_start, host_end)
    usual = float(np.median(ops))
    more = (ops >= _OPS_TIMES * usual) & (ops >= usual + _MIN_MORE_OPS)
    return more & (nodes <= _SAME_BACKWARD_TIMES * np.median(nodes)) & bool(np.median(nodes))


def _lost(trace: Trace, launched: pd.DataFrame, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    start, known = launches_with_work(trace, launched)
    total = counts(start, host_start, host_end)
    lost = counts(start[~known], host_start, host_end)
    ratio = lost / np.maximum(total, 1)
    enough = total >= _MIN_LAUNCHES
    if not (enough & (ratio < _SOUND_RATIO)).any():
        return {}
    return {
        index: f"{LOST}: {lost[index]:,} of {count(int(total[index]), 'launch', 'launches')} have none"
        for index in np.flatnonzero(enough & (ratio >= _LOST_RATIO)).tolist()
    }


def _partial(trace: Trace, launched: pd.DataFrame, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    replays = graph_replays(trace, launched)
    replays = chosen(replays, replays["partial"].to_numpy())
    step = position_of(replays["start_ns"].to_numpy(), host_start, host_end)
    kernels, expected = replays["kernels"].to_numpy(), replays["expected"].to_numpy()
    found: dict[int, str] = {}
    for index, has, should in zip(step.tolist(), kernels.tolist(), expected.tolist(), strict=True):
        if index >= 0:
            found.setdefault(index, f"{PARTIAL}: {has:,} of {should:,.0f} kernels of a replay")
    return found


def _spin(trace: Trace, launched: pd.DataFrame, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    first = first_spin(trace)
    typical = float(np.median(host_end - host_start))
    if first is None or first[1] < _SPIN_STEP_RATIO * typical:
        return {}
    row, dur = first
    call = calls_of(launched, "kernels", np.array([row]), len(trace.kernels))
    at = int(call.start_ns[0]) if call.known[0] else int(trace.kernels["start_ns"].iloc[row])
    step = int(position_of(np.array([at]), host_start, host_end)[0])
    return {step: f"{SPIN}: its first collective waits {duration(dur)} for other ranks"} if step >= 0 else {}


def first_spin(trace: Trace) -> tuple[int, int] | None:
    """Row and duration of the recording's first collective where it takes many times as long as its like; else None."""
    kernels = trace.kernels
    rows = np.flatnonzero(kernels["collective"].to_numpy(dtype=bool))
    if not len(rows):
        return None
    first = int(rows[0])
    codes = codes_of(kernels["name"])
    alike = rows[codes[rows] == codes[first]]
    others = rows[1:] if len(alike) <= _MIN_COLLECTIVES else alike[1:]
    if len(others) < _MIN_COLLECTIVES:
        return None
    dur = kernels["dur_ns"].to_numpy()
    # One name stands for messages of either direction: a stage receives for long, and sends at once, in every step.
    usual = max(float(np.quantile(dur[others], _USUAL_LENGTH)), 1.0)
    return (first, int(dur[first])) if dur[first] >= _SPIN_TIMES * usual else None
