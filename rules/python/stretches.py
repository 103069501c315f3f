"""Which time outside ops counts as host code: on a CPU-only trace only stretches longer than the way from one op to the next.

How long that way is depends on the machine, and on what else it does: the limit grows with an empty loop that the collector times
beside the recording. Before the loader, the backward pass and the optimizer it is longer, and where steps are marked: torch has
Python of its own there.
"""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.rule import Limits
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import count, duration, share

# Rounds of the loop differ by as much on a quiet machine.
_SLOWER = 1.2


def outside_ops(facts: Facts, claimed: IntervalSet) -> IntervalSet:
    """The cause `python` without what other rules claim, autograd's engine, profilers and waits for work."""
    left = facts.time.waterfall.owned("python") - claimed
    return left - _engine(facts) - facts.host.profiler_calls - facts.time.waiting_for_work


def _engine(facts: Facts) -> IntervalSet:
    return EMPTY if facts.device.main is None else facts.host.engine_steps


def least_ns(facts: Facts, limits: Limits) -> float:
    """From when on a stretch counts, nanoseconds: as on a quiet machine, times as slow as this one was."""
    return limits["min_stretch_ns"] * max(1.0, facts.recording.collected.python_slowness or 1.0)


def counted(facts: Facts, limits: Limits, claimed: IntervalSet, *, slower: float = 1.0) -> IntervalSet:
    """What is counted: on the CPU without the steps from op to op.

    A stretch is as long as it is before others claim a part of it: what they leave is counted, however short.

    Args:
        facts: All measurements.
        limits: The rule's.
        claimed: Time of other rules.
        slower: How many times as long as it is known to be that way may have been.
    """
    time = outside_ops(facts, EMPTY)
    if facts.device.main is not None:
        return time - claimed
    least = slower * least_ns(facts, limits)
    long = _at_least(time, least)
    entries = facts.sync.entering(long) | long.touching(_marks(facts))
    return (long - entries | _at_least(entries, limits["entry_times"] * least)) - claimed


def _marks(facts: Facts) -> IntervalSet:
    """Where a profiler is told that a step ends: there it runs Python of its own, 180 us in the median of forty recordings."""
    steps = facts.steps.used
    if not facts.steps.marked:
        return EMPTY
    start, end = steps["host_start_ns"].to_numpy(), steps["host_end_ns"].to_numpy()
    return IntervalSet(start - 1, start + 1) | IntervalSet(end - 1, end + 1)


def _at_least(time: IntervalSet, least: float) -> IntervalSet:
    long = time.end_ns - time.start_ns >= least
    return IntervalSet(time.start_ns[long], time.end_ns[long])


def uncounted_ns(facts: Facts, long: IntervalSet, claimed: IntervalSet) -> int:
    """On a CPU-only trace the time outside ops in stretches too short to be counted; on a device all of it is counted."""
    return 0 if facts.device.main is not None else (outside_ops(facts, claimed) - long).total_ns


def doubtful(facts: Facts, limits: Limits, claimed: IntervalSet, time: IntervalSet) -> str | None:
    """Why nobody can tell whether it is the program that takes this time; else None.

    Args:
        facts: All measurements.
        limits: The rule's.
        claimed: Time of other rules.
        time: What was counted.
    """
    return (
        _of_a_cut_step(facts, limits, time)
        or _of_a_slow_core(facts, limits, claimed)
        or _of_a_shared_core(facts, limits, time)
    )


def _of_a_cut_step(facts: Facts, limits: Limits, time: IntervalSet) -> str | None:
    """Where the only step is silent at its end, and little is left without that: no other step tells how long it is there."""
    end = facts.steps.used["host_end_ns"].to_numpy()
    if facts.steps.count != 1 or not facts.steps.marked:
        return None
    silent = time.touching(IntervalSet(end - 1, end))
    if not silent or facts.steps.ratio((time - silent).total_ns) >= limits["min_ratio"]:
        return None
    return (
        f"but of it {duration(silent.total_ns)} are the end of the only step, of which nothing is recorded: the recording may end "
        "there, in the middle of the step. Record several steps"
    )


def _of_a_slow_core(facts: Facts, limits: Limits, claimed: IntervalSet) -> str | None:
    """Where no loop was timed, and a slower core would explain what is found."""
    if facts.device.main is not None or facts.recording.collected.python_slowness is not None:
        return None
    slower = limits["slow_core_times"]
    ratio = facts.steps.ratio(counted(facts, limits, claimed, slower=slower).total_ns)
    if ratio >= limits["min_ratio"]:
        return None
    return (
        f"only {share(ratio)} in stretches from {duration(slower * limits['min_stretch_ns'])} on: on a slow or busy core the "
        "others may be the way from one op to the next. How slow this one was is not recorded; `advisor collect` times an empty "
        "loop beside the steps"
    )


def _of_a_shared_core(facts: Facts, limits: Limits, time: IntervalSet) -> str | None:
    """Where ops stand still as often as what lies between them, and less than the limit is left without such stretches."""
    left = facts.steps.ratio((time - facts.time.stalls.without_core).total_ns)
    asked = facts.recording.collected.core_wait_ratio is not None
    how = "record on a quiet machine" + ("" if asked else ", or with `advisor collect`, which asks the system")
    return None if left >= limits["min_ratio"] else f"but {_stood_still(facts, time)}; {how}"


def _stood_still(facts: Facts, time: IntervalSet) -> str:
    stalls = facts.time.stalls
    mine = stalls.without_core & time
    usual = "at their place in other steps" if stalls.ops.by_steps else "usual behind the same op"
    return (
        f"{share(facts.steps.ratio(mine.total_ns))} are {count(len(mine), 'stretch', 'stretches')} longer than {usual}, as "
        f"{count(stalls.ops.count, 'op is', 'ops are')}: the thread may have had no core then"
    )


def caveats_of_the_core(facts: Facts, limits: Limits, time: IntervalSet) -> tuple[str, ...]:
    """What a slow core, or one that others used, means for a finding; empty where the core was neither."""
    slow = slower_than_quiet(facts, limits)
    shared = facts.time.stalls.without_core & time
    return (
        *((f"{slow[0].upper()}{slow[1:]}.",) if slow else ()),
        *((f"Of it {_stood_still(facts, time)}.",) if 10 * shared.total_ns >= time.total_ns > 0 else ()),
    )


def slower_than_quiet(facts: Facts, limits: Limits) -> str:
    """What follows for the limit from a loop that took longer than on a quiet machine; empty where it took no longer."""
    slowness = facts.recording.collected.python_slowness
    if facts.device.main is not None or slowness is None or slowness < _SLOWER:
        return ""
    return (
        f"beside the recording an empty loop took {slowness:.1f} times as long as on a quiet machine, so stretches count from "
        f"{duration(least_ns(facts, limits))} on"
    )
