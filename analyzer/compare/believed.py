"""Whether a change of step times can be believed: what else went on while the sides were recorded may have made it.

Two measurements of `advisor collect` and the device's clock can speak against one. The training thread could run and had no core,
or an empty loop took longer on one side: then the answer has to be the same with that time taken out, and where a core lacked for a
large part of the steps no figure means anything. Where the device's clock differed, the answer has to be the same for steps brought
to one clock. And without the profiler the step changed otherwise: then what the recorded steps tell of is the profiler, or other
programs. The answer to any of these is "inconclusive", with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from msgspec.structs import replace

from analyzer import units
from analyzer.compare.noise import ENOUGH_RUNS, Change, Doubt, judge_change
from analyzer.compare.snapshot import Snapshot
from analyzer.facts.health.disturbance.crowding import CROWDED_RATIO
from analyzer.units import duration, figure, share

# Where the thread waited for this share of the steps, its caches and its ops' other threads were disturbed as well. Taking the time
# out then makes a third of what is left (0.25 / 0.75), more than the change that is believed however few the steps
# (`noise.LARGE_CHANGE`, a fifth): from here on the correction would be the answer. Of one loop and its remedy on 2 cores that
# others used, a core lacked for 0.34 of the steps before and 0.68 after: the remedy, twelve times faster without the profiler, came
# out five times slower.
_LARGE_RATIO = 0.25
# The empty loop takes 15 ms: one time slice of another program (about 4 ms) alone makes a quarter, and one on each side may fall
# either way. Two slices more on one side than on the other are a half: from there on it is the machine. Beside equal runs with a
# core to themselves the loops lay 1.05 to 1.12 times apart in the median, 1.39 at most. Of 360 pairs of known truth, on calm and
# busy cores, 8 are judged wrongly, 7 with 1.1 and 1.25, which leave more unanswered, 12 from 2 on (tests/bench/believed.py).
_SLOWER_LOOP = 1.5
# The step without the profiler is a median of 20 steps at one moment; medians of equal runs differ by 2 to 5 % on a machine that
# does nothing else (tests/bench/gate.py): of two sides, and of a step that `advisor collect` slows down by a few percent besides, a
# tenth is twice that.
_UNPROFILED_NOISE = 0.1
# Below this, clocks of one setting differ by their own steps (15 MHz of 2,000).
_CLOCK_RATIO = 0.01
# A change that is less than this part of the other tells of something else. The profiler's own cost is on both sides: at ops
# of a few microseconds it may triple a step, and so hide two thirds of a change, but no more. Of the same pairs 8 are judged
# wrongly, 9 with 0.1 and 0.2, 11 without this limit; with a half one less gets an answer.
_FAR_PART = 1 / 3
# From so many times on, in both measurements, the direction is told where the figure is not. Of the pair above the two disagreed.
_MANY_TIMES = 2.0
# Shares of time without a core that differ by less are the same to a few time slices.
_AS_MUCH_RATIO = 0.1

Runs = Sequence[Snapshot]
_QUIET = f"record at least {ENOUGH_RUNS} runs a side, in turns, on a machine that does nothing else"


def judge(before: Runs, after: Runs) -> Change:
    """How the step time changed, by the steps and by what went on beside them.

    Args:
        before: Runs of one configuration, each with steps.
        after: The same of the other side.
    """
    change = judge_change(_times(before), _times(after))
    reason = _cores(before, after, change)
    if reason is not None:
        return _doubted(change, "cores", f"{reason}{_likely(before, after, change)}; {_QUIET}")
    reason = _clock(before, after, change)
    if reason is not None:
        return _doubted(
            change, "clock", f"{reason}; lock the clock on both sides (`nvidia-smi -lgc`), or record again cool"
        )
    reason = _profiler(before, after, change)
    if reason is not None:
        return _doubted(change, "profiler", f"{reason}; {_QUIET}, with few of the profiler's options")
    return change


def _doubted(change: Change, doubt: Doubt, reason: str) -> Change:
    return replace(
        change,
        kind="inconclusive",
        doubt=doubt,
        sure_ratio=None,
        needed_steps=None,
        needed_runs=ENOUGH_RUNS,
        text=f"Inconclusive: the median step changed by {units.change(change.ratio)}, but {reason}.",
    )


def _cores(before: Runs, after: Runs, change: Change) -> str | None:
    """Why the cores forbid an answer; None where they do not."""
    sides = (before, after)
    waits = [_middle(run.surroundings.core_wait_ratio for run in side) for side in sides]
    own = [_own(side) for side in sides]
    apart = _apart(before, after)
    large = [(wait or 0.0) >= _LARGE_RATIO and not mine for wait, mine in zip(waits, own, strict=True)]
    if any(large):
        return _lacked(sides, waits)
    # What the runs of a side take from themselves is a property of the script, once many runs in turns show that it stays.
    if change.kind == "inconclusive" or (any(own) and apart):
        return None
    if max(wait or 0.0 for wait in waits) >= CROWDED_RATIO and not _holds(sides, change, _with_core):
        return _lacked(sides, waits)
    first, second = (_middle(run.surroundings.python_slowness for run in side) for side in sides)
    if first is None or second is None or max(first, second) < _SLOWER_LOOP * min(first, second):
        return None
    if _holds(sides, change, _paced):
        return None
    return (
        "the machine did not run equally fast: beside the recordings an empty Python loop took "
        f"{figure(first)} times as long as on a quiet machine before, {figure(second)} times after"
    )


def _likely(before: Runs, after: Runs, change: Change) -> str:
    """What the sides say all the same, of a change too large to leave its reader with nothing; empty where they say nothing.

    Other programs only ever add to a step: where they were on the side that is faster no less than on the other, and the steps
    without the profiler, of another minute, say the same, what is left open is how much.
    """
    first, second = (_middle(run.surroundings.unprofiled_step_ns for run in side) for side in (before, after))
    if not first or not second:
        return ""
    slower, faster = (after, before) if change.ratio > 0 else (before, after)
    times = min(max(change.ratio + 1, 1 / (change.ratio + 1)), second / first if change.ratio > 0 else first / second)
    lacked = [_middle(run.surroundings.core_wait_ratio for run in side) or 0.0 for side in (slower, faster)]
    if times < _MANY_TIMES or lacked[0] > lacked[1] + _AS_MUCH_RATIO:
        return ""
    return (
        f"; {'slower' if change.ratio > 0 else 'faster'} it probably is, as steps without the profiler changed by "
        f"{units.change(second / first - 1)}, but nobody can say by how much"
    )


def _own(side: Runs) -> bool:
    """Whether the runs of a side may take the cores from themselves."""
    return all(run.surroundings.crowds_itself for run in side)


def _apart(before: Runs, after: Runs) -> bool:
    """Whether there are many runs a side, and all of one are faster than all of the other."""
    if min(len(before), len(after)) < ENOUGH_RUNS:
        return False
    first, second = ([median(run.steps_ns) for run in side] for side in (before, after))
    return max(first) < min(second) or max(second) < min(first)


def _lacked(sides: tuple[Runs, Runs], waits: Sequence[float | None]) -> str:
    when = zip(waits, ("before", "after"), strict=True)
    shares = " and ".join(f"{share(wait)} of the time {name}" for wait, name in when if wait is not None)
    itself = any(run.surroundings.crowds_itself for side in sides for run in side)
    who = "its own workers or threads, or other programs, had them" if itself else "other programs had them"
    return f"cores were lacking: for {shares} the training thread could run and had none ({who})"


def _holds(sides: tuple[Runs, Runs], change: Change, corrected: Callable[[Snapshot], list[int]]) -> bool:
    first, second = ([corrected(run) for run in side] for side in sides)
    return judge_change(first, second).kind == change.kind


def _times(runs: Runs) -> list[tuple[int, ...]]:
    return [run.steps_ns for run in runs]


def _with_core(run: Snapshot) -> list[int]:
    """The step times less the time for which the thread had no core."""
    return [round(step * max(1 - (run.surroundings.core_wait_ratio or 0.0), 0.01)) for step in run.steps_ns]


def _paced(run: Snapshot) -> list[int]:
    """The step times that a quiet machine would need if all of a step took as much longer as the empty loop."""
    return [round(step / max(run.surroundings.python_slowness or 1.0, 0.1)) for step in run.steps_ns]


def _profiler(before: Runs, after: Runs, change: Change) -> str | None:
    """Why the steps without the profiler forbid an answer; None where they do not."""
    first, second = (_middle(run.surroundings.unprofiled_step_ns for run in side) for side in (before, after))
    if change.kind == "inconclusive" or not first or not second:
        return None
    without = second / first - 1
    noise = max(_UNPROFILED_NOISE, 2 * change.floor_ratio)
    if abs(without - change.ratio) <= noise:
        return None
    part = without / change.ratio if abs(change.ratio) > abs(without) else change.ratio / without
    if change.kind != "unchanged" and part >= _FAR_PART:
        return None
    return f"without the profiler by {units.change(without)} ({duration(first)} before, {duration(second)} after)"


def _clock(before: Runs, after: Runs, change: Change) -> str | None:
    """Why the device's clocks forbid an answer; None where they do not."""
    first, second = (_middle(run.surroundings.clock_mhz for run in side) for side in (before, after))
    if not first or not second:
        return _locked(before, after, change)
    if abs(first - second) <= _CLOCK_RATIO * max(first, second):
        return None
    # No kernel gains more from a clock than in proportion: what holds for all of a step at one clock holds for any part of it.
    if _holds((before, after), change, lambda run: _at_clock(run, first)):
        return None
    return f"the device's clock was {first:,.0f} MHz before and {second:,.0f} MHz after"


def _locked(before: Runs, after: Runs, change: Change) -> str | None:
    """Of clocks that are not known: whether recording locked that of one side."""
    sides = [any(run.surroundings.locked_clock for run in side) for side in (before, after)]
    if change.kind == "inconclusive" or sides[0] == sides[1]:
        return None
    return f"metrics that lock the device's clock were recorded {'before' if sides[0] else 'after'} only"


def _at_clock(run: Snapshot, clock_mhz: float) -> list[int]:
    """The step times if all of a step went with the clock."""
    return [round(step * (run.surroundings.clock_mhz or clock_mhz) / clock_mhz) for step in run.steps_ns]


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
