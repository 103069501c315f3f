"""Is a difference of step times real? Steps are samples; the runs' own unrest is the yardstick.

Three questions must agree before a change is called one: a rank test (Mann-Whitney) over the steps, an effect size (the
probability that a step after is slower than one before), and the A/A floor: how much medians of blocks of one side differ among
themselves, where nothing was changed. Blocks, not single steps, because neighbouring steps share a slow moment of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

Kind = Literal["faster", "slower", "unchanged", "inconclusive"]
Float64Array = npt.NDArray[np.float64]

# Fewer steps a side leave only very large changes beyond doubt.
ENOUGH_STEPS = 20
SMALL_SAMPLE_CHANGE = 0.2
_SIGNIFICANCE = 0.01
# Changes below this are never reported as such: clocks and schedulers alone make them.
_MIN_CHANGE = 0.02
# With one run a side, what differs between two runs of one script (placement in memory, clocks, other load) cannot be measured;
# this much is granted to it: two and a half times the 2 % by which medians of equal runs differed on an otherwise idle machine
# (tests/bench/gate.py). Give several runs a side to have it measured instead.
_RUN_TO_RUN = 0.05
# From this spread on (distance of the quartiles, as a share of the median) something else than the script sets the step time, other
# programs or a loader that runs dry; it may hold for one run and not for the next, which one run a side cannot tell.
_RESTLESS = 0.25
# Other programs only ever add to a step, and the fastest steps are those they left alone: what the script itself takes longer shows
# in these too. Asked where a side has one run.
_FAST = 0.1
# A floor above this hides too much to say that nothing changed.
_HIGHEST_CALM_FLOOR = 0.1
# Stochastic dominance below which two sides overlap too much to be called different (Vargha and Delaney's "medium" is 0.64).
_MIN_EFFECT = 0.64
_BLOCKS = 5
_RESAMPLES = 2000
_CONFIDENCE = 0.99


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """How the step time changed.

    Args:
        kind: The answer; `inconclusive` where the data cannot tell.
        ratio: Median after over median before, less one: -0.29 is 29 % faster.
        low_ratio: Lower end of the 99 % interval of `ratio` (block bootstrap).
        high_ratio: Upper end.
        p_value: Two-sided Mann-Whitney test.
        fast_ratio: The same as `ratio` of the fast steps: the tenth percentile after over the one before, less one.
        slower_probability: Probability that a step after takes longer than one before (0.5: no difference).
        floor_ratio: A/A floor: change below which the runs differ as much from themselves.
        needed_steps: Steps a side that would decide an inconclusive comparison; None where decided, and where only more runs can.
        text: The answer in one sentence.
    """

    kind: Kind
    ratio: float
    low_ratio: float
    high_ratio: float
    p_value: float
    fast_ratio: float
    slower_probability: float
    floor_ratio: float
    needed_steps: int | None
    text: str


def judge_change(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> Change:
    """Judges step times of two sides.

    Args:
        before: Step times in ns, one sequence per run.
        after: The same of the other side.
    """
    # scipy costs 0.3 s to import: only a comparison pays.
    from scipy.stats import mannwhitneyu

    first, second = _joined(before), _joined(after)
    test = mannwhitneyu(second, first, alternative="two-sided")
    effect = float(test.statistic) / (len(first) * len(second))
    p_value = float(test.pvalue)
    ratio = float(np.median(second) / np.median(first)) - 1
    low, high = _interval(before, after)
    floor = max(_MIN_CHANGE, _floor(before), _floor(after))
    fewest = min(len(first), len(second))
    measured = Change(
        kind="inconclusive",
        ratio=ratio,
        low_ratio=low,
        high_ratio=high,
        p_value=p_value,
        fast_ratio=float(np.quantile(second, _FAST) / np.quantile(first, _FAST)) - 1,
        slower_probability=effect,
        floor_ratio=floor,
        needed_steps=None,
        text="",
    )
    alone = [side[0] for side in (before, after) if len(side) == 1]
    doubt = _doubt(measured, alone) if fewest >= ENOUGH_STEPS else f"only {fewest} steps on a side"
    kind = _kind(measured, sure=doubt is None)
    needed = None
    if kind == "inconclusive" and (doubt is None or fewest < ENOUGH_STEPS):
        needed = _needed(fewest, ratio, high - low)
    return msgspec.structs.replace(measured, kind=kind, needed_steps=needed, text=_text(measured, kind, doubt, needed))


def _doubt(measured: Change, alone: Sequence[Sequence[int]]) -> str | None:
    """Why one run a side cannot tell a change of the script from one of the machine; None where it can."""
    spread = max((_spread(run) for run in alone), default=0.0)
    if spread >= _RESTLESS:
        return f"the steps of one run differ by {spread * 100:.0f} % among themselves"
    changed = abs(measured.ratio) > measured.floor_ratio
    if alone and changed and measured.fast_ratio * np.sign(measured.ratio) <= _RUN_TO_RUN:
        return f"the fastest steps by {measured.fast_ratio * 100:+.1f} %"
    return None


def _kind(measured: Change, *, sure: bool) -> Kind:
    ratio, low, high, floor = measured.ratio, measured.low_ratio, measured.high_ratio, measured.floor_ratio
    dominance = max(measured.slower_probability, 1 - measured.slower_probability)
    different = measured.p_value < _SIGNIFICANCE and dominance >= _MIN_EFFECT and abs(ratio) > floor
    if not sure:
        # Only a large change without any overlap is beyond this doubt.
        certain = different and abs(ratio) >= SMALL_SAMPLE_CHANGE and dominance == 1.0
        return ("slower" if ratio > 0 else "faster") if certain else "inconclusive"
    if different and (low > 0 or high < 0):
        return "slower" if ratio > 0 else "faster"
    same = abs(ratio) <= floor <= _HIGHEST_CALM_FLOOR and -2 * floor <= low and high <= 2 * floor
    return "unchanged" if same else "inconclusive"


def _spread(run: Sequence[int]) -> float:
    """Distance of the quartiles as a share of the median."""
    lower, middle, upper = np.quantile(np.asarray(run, dtype=np.float64), (0.25, 0.5, 0.75))
    return float((upper - lower) / middle)


def _joined(runs: Sequence[Sequence[int]]) -> Float64Array:
    return np.concatenate([np.asarray(run, dtype=np.float64) for run in runs])


def _block_medians(runs: Sequence[Sequence[int]]) -> Float64Array:
    """Medians of consecutive blocks of steps: five per run where it has ten steps, fewer in shorter ones."""
    medians = []
    for run in runs:
        count = min(_BLOCKS, max(len(run) // 2, 1))
        medians += [float(np.median(part)) for part in np.array_split(np.asarray(run, dtype=np.float64), count)]
    return np.array(medians)


def _floor(runs: Sequence[Sequence[int]]) -> float:
    """How far the median of one side would move if the same run were repeated.

    Twice the standard error over its blocks, from the median absolute deviation (a single disturbed block must not hide a
    change); between several runs of a side also twice the standard error over the runs.
    """
    medians = _block_medians(runs)
    if len(medians) < 2:
        return SMALL_SAMPLE_CHANGE
    deviation = 1.4826 * float(np.median(np.abs(medians - np.median(medians))))
    floor = 2 * deviation / len(medians) ** 0.5 / float(np.median(medians))
    if len(runs) == 1:
        return float(max(floor, _RUN_TO_RUN))
    per_run = np.array([np.median(run) for run in runs], dtype=np.float64)
    between_runs = 2 * per_run.std(ddof=1) / len(runs) ** 0.5 / np.median(per_run)
    return float(max(floor, between_runs))


def _interval(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> tuple[float, float]:
    """99 % interval of the ratio of medians by resampling blocks; the seed is fixed so that one input has one answer."""
    random = np.random.default_rng(0)
    first, second = _resampled(before, random), _resampled(after, random)
    ratios = second / first - 1
    tail = (1 - _CONFIDENCE) / 2
    return float(np.quantile(ratios, tail)), float(np.quantile(ratios, 1 - tail))


def _resampled(runs: Sequence[Sequence[int]], random: np.random.Generator) -> Float64Array:
    """Medians of resampled steps, drawn in blocks of neighbours."""
    values = _joined(runs)
    length = max(1, round(len(values) ** 0.5 / 2))
    blocks = int(np.ceil(len(values) / length))
    starts = random.integers(0, max(len(values) - length + 1, 1), size=(_RESAMPLES, blocks))
    index = (starts[:, :, None] + np.arange(length)).reshape(_RESAMPLES, -1)[:, : len(values)]
    return np.asarray(np.median(values[np.minimum(index, len(values) - 1)], axis=1))


def _needed(fewest: int, ratio: float, width: float) -> int:
    """Steps a side so that the interval, which shrinks with the root of their number, no longer holds zero."""
    if fewest < 2 or abs(ratio) < 1e-9:
        return max(ENOUGH_STEPS, 2 * fewest)
    shrink = (width / 2) / max(abs(ratio), _MIN_CHANGE)
    return max(ENOUGH_STEPS, min(int(np.ceil(fewest * shrink**2)), 1000), fewest + 1)


def _text(measured: Change, kind: Kind, doubt: str | None, needed: int | None) -> str:
    ratio = measured.ratio
    unrest = f"the runs differ by {measured.floor_ratio * 100:.1f} % from themselves"
    between = f"99 % interval {measured.low_ratio * 100:+.1f} to {measured.high_ratio * 100:+.1f} %"
    if kind == "inconclusive":
        why = doubt or f"{between}, and {unrest}"
        more = (
            f"record at least {needed} steps a side"
            if needed is not None
            else "record several runs a side, on a machine that does nothing else"
        )
        return f"Inconclusive: the median step changed by {ratio * 100:+.1f} %, but {why}; {more}."
    if kind == "unchanged":
        return f"No change beyond noise: {ratio * 100:+.1f} % ({between}; {unrest})."
    return f"{abs(ratio) * 100:.1f} % {kind}: {between}; {unrest}."
