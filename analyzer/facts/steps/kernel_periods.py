"""Steps of a program that left no mark but its kernels: the outermost period of their names, where it covers the recording.

Equal layers repeat within a pass as steps repeat within a run, so that a period alone says nothing. A period is taken for a step
only where nothing speaks of a larger one (no room for another step before or behind, no kernel outside that is not of the
sequence, no launch, range or module that holds several, no loader or optimizer that is called less often) and something speaks
for it: equal layers inside, or results that the host receives in each. Of equal pieces with gaps nobody can tell what they are.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import from_source
from analyzer.facts.steps.tiling_ranges import MIN_REPETITIONS, host_extent
from analyzer.spans.arrays import Int64Array
from analyzer.spans.labels import is_any, matching
from analyzer.spans.open_spans import NONE
from traces.trace import Trace

# A sequence counts as periodic when this share of its kernels equals the one a period later.
_PERIODIC_RATIO = 0.9
# Kernels of one period at least: shorter ones are loops inside a step.
_MIN_PERIOD = 8
_CANDIDATE_PERIODS = 16
# Kernels of one layer at least.
_MIN_LAYER = 3
# Of what differs one inner period later (the ends of passes) most is alike an outer period later; what differs by chance (another
# algorithm, another stream first) does so whatever the distance.
_OUTER_PART = 0.5
# The gap between two steps is at least this many times the longest gap inside a step; equal layers have no such gap.
_CUT_TIMES = 2.0
# The first cut lies up to a step behind the start of a recording, and the last one as far before its end. Beyond that there is room
# for one more at most: where there is more, the sequence is but a part of what was recorded.
_ROOM_STEPS = 2.0
# As large a part of a pass is equal layers, of two at least.
_LAYERED_RATIO = 1 / 3
# Of many steps one may be longer than the others (a prompt before its tokens): a tenth is no other program.
_ROOM_RATIO = 0.1


class KernelSteps(msgspec.Struct, frozen=True):
    """A sequence of kernels that repeats.

    Args:
        period: Its kernels.
        cuts_ns: Where one begins, on the device, shape (steps + 1,).
    """

    period: int
    cuts_ns: Int64Array


def kernel_steps(trace: Trace, launched: pd.DataFrame) -> KernelSteps | None:
    """The outermost period of the kernels' names on the busiest device, in order of start; None where it need not be a step.

    Args:
        trace: The trace.
        launched: From `launches.launches`.
    """
    if not len(trace.kernels):
        return None
    device = trace.kernels["device"].mode().iloc[0]
    rows = np.flatnonzero(trace.kernels["device"].to_numpy() == device)
    rows = rows[np.argsort(trace.kernels["start_ns"].to_numpy()[rows], kind="stable")]
    codes = trace.kernels["name"].cat.codes.to_numpy().astype(np.int64)[rows]
    period = _period(codes)
    if period is None:
        return None
    start, end = (trace.kernels[name].to_numpy()[rows] for name in ("start_ns", "end_ns"))
    first = _cut(start[1:] - end[:-1], period)
    if first is None:
        return None
    at = np.arange(first, len(codes), period)
    found = KernelSteps(period, start[at])
    if len(at) < MIN_REPETITIONS + 1 or not _is_all(codes, at, period) or not _covers(trace, found.cuts_ns):
        return None
    if not (_layered(codes[first : first + period]) or _received_in_each(trace, found.cuts_ns)):
        return None
    if _shared_launch(launched, rows, at) or _inside_another(trace, launched, rows[at]):
        return None
    return found


def _layered(codes: Int64Array) -> bool:
    """Whether a good part of one period repeats within it, as the layers of a model do."""
    values, counts = np.unique(codes, return_counts=True)
    several = counts > 1
    rare = values[several][np.argsort(counts[several], kind="stable")][:_CANDIDATE_PERIODS]
    tried = {int(np.median(np.diff(np.flatnonzero(codes == value)))) for value in rare}
    return any(
        int((codes[layer:] == codes[:-layer]).sum()) >= _LAYERED_RATIO * len(codes)
        for layer in tried
        if layer >= _MIN_LAYER
    )


def _received_in_each(trace: Trace, cuts_ns: Int64Array) -> bool:
    """Whether the host receives something from the device, or waits for all of it, about once in each period."""
    calls = trace.runtime
    received = trace.copies["start_ns"].to_numpy()[is_any(trace.copies["direction"], "DtoH")]
    waited = calls["start_ns"].to_numpy()[is_any(calls["kind"], "sync")]
    for at in (received, waited):
        inside = np.histogram(at, cuts_ns)[0]
        if (inside == 1).mean() >= _PERIODIC_RATIO:
            return True
    return False


def _is_all(codes: Int64Array, at: Int64Array, period: int) -> bool:
    """Whether each period begins alike, and what is before the first and behind the last cut is of the sequence too."""
    first, last = int(at[0]), int(at[-1])
    pairs = (
        (codes[at[1:]], codes[at[:-1]]),
        (codes[:first], codes[period : period + first]),
        (codes[last:], codes[last - period : len(codes) - period]),
    )
    return all(float((one == other).mean()) >= _PERIODIC_RATIO for one, other in pairs if len(one))


def _covers(trace: Trace, cuts_ns: Int64Array) -> bool:
    """Whether host and device do next to nothing outside the steps."""
    begin, end = host_extent(trace)
    begin = min(begin, int(trace.kernels["start_ns"].min()))
    end = max(end, int(trace.kernels["end_ns"].max()))
    before, after = int(cuts_ns[0]) - begin, end - int(cuts_ns[-1])
    step = float(np.median(np.diff(cuts_ns)))
    return max(before, after) <= _ROOM_STEPS * step or before + after <= _ROOM_RATIO * (end - begin)


def _shared_launch(launched: pd.DataFrame, rows: Int64Array, at: Int64Array) -> bool:
    """Whether one call launched kernels of several steps: a graph of many layers, replayed at once."""
    step = np.full(int(rows.max()) + 1, NONE)
    step[rows] = np.searchsorted(at, np.arange(len(rows)), side="right") - 1
    mine = from_source(launched, "kernels") & launched["shared"].to_numpy()
    kernel, call = launched["row"].to_numpy()[mine], launched["launch_row"].to_numpy()[mine]
    here = kernel < len(step)
    of_step, call = step[kernel[here]], call[here]
    pairs = np.unique(np.stack([call, of_step])[:, of_step != NONE], axis=1)
    return bool(len(np.unique(pairs[0])) < pairs.shape[1])


def _inside_another(trace: Trace, launched: pd.DataFrame, first: Int64Array) -> bool:
    """Whether a range of the program or a module holds several, or a loader or an optimizer is called less often.

    Args:
        trace: The trace.
        launched: From `launches.launches`.
        first: The first kernel of each step, as rows of `trace.kernels`.
    """
    ranges = trace.annotations
    steps = len(first) - 1
    for kind in ("loader", "optimizer_step", "zero_grad"):
        if 0 < int(is_any(ranges["kind"], kind).sum()) < steps:
            return True
    mine = from_source(launched, "kernels") & np.isin(launched["row"].to_numpy(), first)
    began = np.sort(launched["launch_start_ns"].to_numpy()[mine])
    modules = matching(trace.python["name"], lambda name: name.startswith("nn.Module: "))
    for frame, chosen in ((ranges, is_any(ranges["kind"], "user", "module")), (trace.python, modules)):
        since, until = (frame[name].to_numpy()[chosen] for name in ("start_ns", "end_ns"))
        if (np.searchsorted(began, until) - np.searchsorted(began, since) > 1).any():
            return True
    return False


def _cut(gaps: Int64Array, period: int) -> int | None:
    """First kernel of the second period: after the gap that is the longest in every period.

    None where no gap stands out: then the repetition is rather one of equal layers inside a step.
    """
    rows = len(gaps) // period
    typical = np.median(gaps[: rows * period].reshape(rows, period), axis=0)
    longest = int(np.argmax(typical))
    others = np.delete(typical, longest)
    return longest + 1 if typical[longest] >= _CUT_TIMES * max(float(others.max()), 1.0) else None


def _period(codes: Int64Array) -> int | None:
    """The outermost period >= _MIN_PERIOD with which the sequence repeats, tried at distances between equal rare kernels."""
    values, counts = np.unique(codes, return_counts=True)
    often = counts >= MIN_REPETITIONS
    rare = values[often][np.argsort(counts[often], kind="stable")]
    tried = {int(np.median(np.diff(np.flatnonzero(codes == value)))) for value in rare[:_CANDIDATE_PERIODS]}
    best: int | None = None
    differing = 1.0 - _PERIODIC_RATIO
    for period in sorted(tried):
        if period < _MIN_PERIOD or len(codes) < MIN_REPETITIONS * period:
            continue
        differs = float((codes[period:] != codes[:-period]).mean())
        if differs <= differing if best is None else differs < _OUTER_PART * differing:
            best, differing = period, differs
    return best
