"""Is a difference of step times real? Steps are samples; the runs' own unrest is the yardstick.

A change is called one where the fastest quarter of the steps and their median both moved, at least one of them beyond its interval
and beyond what differs between equal runs (level.py), and a rank test over the faster half of the steps agrees. With several runs
a side the median alone will do: what all runs of a side share is no accident. Everything else is unchanged, where both measures
are known to be still, or inconclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from analyzer import units
from analyzer.analysis.changes import Kind
from analyzer.compare.level import CONFIDENCE, Float64Array, Move, Runs, moves
from analyzer.compare.ranked import mann_whitney

# Fewer steps a side leave only very large changes without any overlap beyond doubt.
ENOUGH_STEPS = 20
LARGE_CHANGE = 0.2
_SIGNIFICANCE = 0.05
# From so many steps a side on chance parts two equal sets in less than one of a hundred cases: 2 of 252 orders for five a side.
_ENOUGH_APART = 5
# Changes below this are never reported as such: clocks and schedulers alone make them.
_MIN_CHANGE = 0.02
# A script that takes longer does so in the fast steps as in the others. Where, with one run a side, the median moved by this much
# more than they did, or less, other programs may have done it.
_ALIKE = 0.1
# A floor above this hides too much to say that nothing changed.
_HIGHEST_CALM_FLOOR = 0.1
_MOST_STEPS = 1000
# From so many runs a side on their own spread tells a tenth from nothing (tests/analyzer/compare/test_step_times.py).
ENOUGH_RUNS = 5
_MOST_RUNS = 20

Doubt = Literal["cores", "clock", "profiler"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """How the step time changed.

    Args:
        kind: The answer; `inconclusive` where the data cannot tell.
        ratio: Median after over median before, less one: -0.29 is 29 % faster. Of several runs a side the calmer ones count.
        low_ratio: Lower end of the 95 % interval of `ratio` (block bootstrap).
        high_ratio: Upper end.
        fast_ratio: The same as `ratio` of the fast steps: the mean of the fastest quarter.
        fast_low_ratio: Lower end of the 95 % interval of `fast_ratio`.
        fast_high_ratio: Upper end.
        sure_ratio: What of the change is beyond the doubt the steps leave: the end next to zero of the better of the two
            intervals, and no more than either measure moved; None unless `kind` is faster or slower.
        p_value: Two-sided Mann-Whitney test over the faster half of the steps of each side.
        slower_probability: Probability that a step after takes longer than one before (0.5: no difference).
        floor_ratio: A/A floor: change of the median below which equal runs may differ as much.
        needed_steps: Steps a side that would decide an inconclusive comparison; None where decided, and where only more runs can.
        needed_runs: Runs a side that would, by what the runs differ; None where decided, and where more steps can.
        text: The answer in one sentence.
        doubt: What else may have made the change, where that forbids an answer: `cores` that lacked, or the `profiler`.
    """

    kind: Kind
    ratio: float
    low_ratio: float
    high_ratio: float
    fast_ratio: float
    fast_low_ratio: float
    fast_high_ratio: float
    sure_ratio: float | None
    p_value: float
    slower_probability: float
    floor_ratio: float
    needed_steps: int | None
    needed_runs: int | None
    text: str
    doubt: Doubt | None = None


def judge_change(before: Runs, after: Runs) -> Change:
    """Judges step times of two sides.

    Args:
        before: Step times in ns, one sequence per run.
        after: The same of the other side.
    """
    first, second = _joined(before), _joined(after)
    fewest = min(len(first), len(second))
    fast, median = moves(before, after)
    dominance = mann_whitney(second, first).statistic / (len(first) * len(second))
    p_value = mann_whitney(_faster_half(second), _faster_half(first)).p_value
    several = min(len(before), len(after)) > 1
    kind: Kind = "inconclusive"
    apart = dominance in (0.0, 1.0)
    beyond = apart and min(abs(fast.ratio), abs(median.ratio)) > max(fast.floor, median.floor)
    if (abs(median.ratio) >= LARGE_CHANGE and apart) or (beyond and fewest >= _ENOUGH_APART):
        # So much without any overlap is beyond doubt, however few the steps; and less of it is where equal runs differ by less
        # and chance would hardly part so many steps.
        kind = "slower" if median.ratio > 0 else "faster"
    elif fewest >= ENOUGH_STEPS:
        kind = _kind(fast, median, ranked=p_value < _SIGNIFICANCE, several=several)
    mean_ratio = float(second.mean() / first.mean()) - 1
    if kind == "unchanged" and abs(mean_ratio) > 2 * median.floor:
        kind, doubt = "inconclusive", f"single steps changed the mean by {units.change(mean_ratio)}"
    else:
        doubt = _doubt(fewest, fast, median)
    steps = _needed(fewest, fast, median) if kind == "inconclusive" else None
    runs = _needed_runs(min(len(before), len(after)), median) if kind == "inconclusive" and steps is None else None
    return Change(
        kind=kind,
        ratio=median.ratio,
        low_ratio=median.low,
        high_ratio=median.high,
        fast_ratio=fast.ratio,
        fast_low_ratio=fast.low,
        fast_high_ratio=fast.high,
        sure_ratio=_sure(kind, fast, median),
        p_value=p_value,
        slower_probability=dominance,
        floor_ratio=median.floor,
        needed_steps=steps,
        needed_runs=runs,
        text=_text(kind, median, doubt, steps, runs),
    )


def _kind(fast: Move, median: Move, *, ranked: bool, several: bool) -> Kind:
    together = fast.ratio * median.ratio > 0 and min(abs(fast.ratio), abs(median.ratio)) > _MIN_CHANGE
    together &= several or abs((1 + median.ratio) / (1 + fast.ratio) - 1) <= _ALIKE
    alone = several and abs(median.ratio) > _MIN_CHANGE
    if ranked and ((together and (fast.grown or median.grown)) or (alone and median.grown)):
        return "slower"
    if ranked and ((together and (fast.shrunk or median.shrunk)) or (alone and median.shrunk)):
        return "faster"
    calm = max(fast.floor, median.floor) <= _HIGHEST_CALM_FLOOR
    return "unchanged" if calm and fast.still and median.still else "inconclusive"


def _sure(kind: Kind, fast: Move, median: Move) -> float | None:
    """See `Change.sure_ratio`."""
    if kind == "slower":
        agreed = min(fast.ratio, median.ratio) if fast.ratio > _MIN_CHANGE else median.ratio
        return min(max(fast.low, median.low), agreed)
    if kind == "faster":
        agreed = max(fast.ratio, median.ratio) if fast.ratio < -_MIN_CHANGE else median.ratio
        return max(min(fast.high, median.high), agreed)
    return None


def _needed(fewest: int, fast: Move, median: Move) -> int | None:
    """Steps a side so that an interval, which shrinks with the root of their number, no longer holds zero.

    None where that would not help: the measures disagree, or moved by no more than equal runs may differ.
    """
    if fewest >= ENOUGH_STEPS and not any(abs(one.ratio) > one.floor for one in (fast, median)):
        # Nothing moved: more steps can show that it is still, unless the runs are too restless for it.
        if max(fast.floor, median.floor) > _HIGHEST_CALM_FLOOR:
            return None
        shrink = max((one.high - one.low) / (2 * one.floor) for one in (fast, median))
    elif fewest >= ENOUGH_STEPS and fast.ratio * median.ratio <= 0:
        return None
    else:
        shrink = min((one.high - one.low) / 2 / max(abs(one.ratio), _MIN_CHANGE) for one in (fast, median))
        if fewest >= ENOUGH_STEPS and shrink <= 1:
            return None
    return max(ENOUGH_STEPS, min(int(np.ceil(fewest * shrink**2)), _MOST_STEPS), fewest + 1)


def _needed_runs(runs: int, median: Move) -> int:
    """Runs a side so that what equal runs differ by, which shrinks with the root of their number, is less than what moved."""
    shrink = median.floor / max(abs(median.ratio), _MIN_CHANGE)
    return max(ENOUGH_RUNS, runs + 1, min(int(np.ceil(runs * shrink**2)), _MOST_RUNS))


def _doubt(fewest: int, fast: Move, median: Move) -> str:
    """Why there is no answer."""
    if fewest < ENOUGH_STEPS:
        return f"only {fewest} steps on a side"
    if abs(median.ratio) > median.floor and abs(fast.ratio - median.ratio) > fast.floor:
        return f"the fastest steps by {units.change(fast.ratio)}"
    return f"{_interval(median)}, and equal runs may differ by {median.floor * 100:.1f} %"


def _text(kind: Kind, median: Move, doubt: str, steps: int | None, runs: int | None) -> str:
    if kind == "inconclusive":
        more = (
            f"record at least {runs} runs a side, in turns, on a machine that does nothing else"
            if runs is not None
            else f"record at least {steps} steps a side (`advisor collect --active {steps}`)"
        )
        return f"Inconclusive: the median step changed by {units.change(median.ratio)}, but {doubt}; {more}."
    unrest = (
        "the runs of the two sides do not mix"
        if median.apart and kind != "unchanged"
        else f"equal runs may differ by {median.floor * 100:.1f} %"
    )
    if kind == "unchanged":
        return f"No change beyond noise: {units.change(median.ratio)} ({_interval(median)}; {unrest})."
    gain = units.slower(median.ratio) if kind == "slower" else f"{abs(median.ratio) * 100:.1f} % {kind}"
    return f"{gain}: {_interval(median)}; {unrest}."


def _interval(move: Move) -> str:
    low, high = units.change(move.low), units.change(move.high)
    # What both have stands once.
    if high.endswith(" %"):
        low = low.removesuffix(" %")
    elif not low.endswith(" %"):
        high = high.rpartition(" ")[2]
    return f"{CONFIDENCE * 100:.0f} % interval {low} to {high}"


def _joined(runs: Sequence[Sequence[int]]) -> Float64Array:
    return np.concatenate([np.asarray(run, dtype=np.float64) for run in runs])


def _faster_half(steps: Float64Array) -> Float64Array:
    return np.sort(steps)[: max(len(steps) // 2, 1)]
