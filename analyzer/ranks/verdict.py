"""The job's verdict: one sentence that says who holds it up, or why nobody can say."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.ranks.alignment.borne_out import Judged
from analyzer.ranks.alignment.roll import Roll
from analyzer.ranks.document import HeldUpBy, JobVerdict, LateRank, OtherLoop, Together, WhatIf
from analyzer.ranks.loop_words import for_them, what_they_do
from analyzer.units import count, duration, listed, share

# Below this share of the step nothing that a change of links or stages saves is worth a sentence; and "nobody" is said only
# where no more than that went unjudged.
WORTH_RATIO = 0.05
# A rank that is late in fewer of the steps is not so in most.
_MOST_RATIO = 0.6
# Ranks are named as those that hold the job up where all of them alike save no more than this many times as much.
_MORE_RATIO = 1.5
# Ranks that are not here are named up to so many: of more the number says enough.
_NAMED = 8


class Grounds(msgspec.Struct, frozen=True):
    """What a verdict rests on.

    Args:
        matched: How many collectives two ranks or more share.
        judged: How much of the time in collectives can be held against other ranks.
        error_ns: How far the clocks agree.
        faithful: Whether the job, played again as recorded, takes as long as it did.
        uncompared_ns: Exposed time in transfers that there are fewer than two equal ones for, a step.
        why_unsaid: That somebody is late by no more than ranks lacked cores, as a sentence; else empty.
        pace: How fast the busiest of those moves data, as a sentence; empty where that is not known.
        unlike: That of two equal groups one is much slower, in words; else empty.
        starved: Which ranks had no core for how much of their steps, in words; else empty.
        apart: What one of those spends on its host beyond the others all the same, as a sentence; else empty.
        turns: What each step's latest rank does longer, where that is another one each time; None where it is not.
        together: Ranks that are late together, where none is alone.
        in_turn: That the stages of a pipeline work one after the other, in words; else empty.
        without_peers_ns: What ranks wait for one another a step, where some of them have no peers to be held against.
        seldom: That a rank is late in so few steps that it may be chance, in words; else empty.
        why_none: What the traces lack where nothing is matched or no step is on all ranks, in words; None where that is not known.
        other_loops: Steps that some ranks leave out of all figures, in which the others wait for them, the most costly first.
    """

    matched: int
    judged: Judged
    error_ns: int
    faithful: bool
    uncompared_ns: float = 0.0
    pace: str = ""
    unlike: str = ""
    why_unsaid: str = ""
    starved: str = ""
    apart: str = ""
    turns: str | None = None
    seldom: str = ""
    in_turn: str = ""
    together: Together | None = None
    without_peers_ns: float = 0.0
    why_none: str | None = None
    other_loops: tuple[OtherLoop, ...] = ()


def job_verdict(
    roll: Roll, late: Sequence[LateRank], what_if: Sequence[WhatIf], step_ns: int, grounds: Grounds
) -> JobVerdict:
    """What holds the job up."""
    if len(roll.used) < 2:
        return _nothing("not clear", f"{count(len(roll.used), 'rank')} that can be held against others: too few")
    if not grounds.matched:
        why = f" {grounds.why_none}" if grounds.why_none else ""
        return _nothing("not clear", f"No collective of one rank could be matched with another's.{why}{_scope(roll)}")
    loop = next((one for one in grounds.other_loops if one.waited_ratio >= WORTH_RATIO), None)
    if loop is not None and not late:
        return _nothing("not clear", _of_loop(loop) + _scope(roll))
    best = next((one for one in what_if if one.scope in ("links", "stage")), None)
    saved = max((one.waited_ns_per_step for one in late if one.of_rank), default=0)
    if best is not None and best.saved_ns_per_step > max(saved, WORTH_RATIO * step_ns):
        return _of_change(best, step_ns, roll)
    several = next((one for one in what_if if one.scope == "several ranks"), None)
    alike = next((one for one in what_if if one.scope == "all ranks"), None)
    if several is not None and not any(one.of_rank for one in late):
        # What all of them differ by costs more: some are latest in more of these steps, by chance.
        whole = alike is not None and alike.saved_ns_per_step > _MORE_RATIO * several.saved_ns_per_step
        return _of_change(
            alike if alike is not None and whole else several, step_ns, roll, _common(grounds.together, whole)
        )
    if (
        not late
        and grounds.turns is not None
        and alike is not None
        and alike.saved_ns_per_step >= WORTH_RATIO * step_ns
    ):
        return _by_turns(alike, grounds.turns, step_ns, roll)
    if not late and grounds.in_turn:
        return JobVerdict(held_up_by="nobody", rank=None, ratio=0.0, text=grounds.in_turn + _scope(roll))
    if not late and grounds.seldom and not grounds.why_unsaid:
        return _nothing("not clear", grounds.seldom + _scope(roll))
    if not late:
        return _nobody(roll, step_ns, grounds)
    return _of_rank(late, step_ns, roll)


def _of_rank(late: Sequence[LateRank], step_ns: int, roll: Roll) -> JobVerdict:
    late = sorted(late, key=lambda one: not one.of_rank)
    first = late[0]
    why = first.cause_detail if first.cause != "not clear" else f"why is not clear: {first.cause_detail}"
    since = "" if first.since_step is None else f", late from step {first.since_step} on"
    waited, step = duration(first.waited_ns_per_step), duration(step_ns)
    seldom = first.of_rank and first.steps_late < _MOST_RATIO * first.of
    waited += "" if first.since_step is None and not seldom else " on average"
    regularly = "" if first.every is None else f", every {count(first.every, 'step')}"
    since += f", late in {first.steps_late} of {first.of} steps{regularly}" if seldom else ""
    text = (
        f"Of the ranks that are here the others wait up to {waited} of each {step} step for rank {first.rank}{since}: {why}."
        if first.at_most
        else f"The others wait {waited} of each {step} step for rank {first.rank}{since}: {why}."
    )
    more = f" {count(len(late) - 1, 'more rank')} late." if len(late) > 1 else ""
    ratio = first.waited_ns_per_step / step_ns if step_ns else 0.0
    return JobVerdict(held_up_by="late rank", rank=first.rank, ratio=ratio, text=text + more + _scope(roll))


def _nobody(roll: Roll, step_ns: int, grounds: Grounds) -> JobVerdict:
    """Nobody, or what keeps that from being said."""
    judged, floor, step = grounds.judged, WORTH_RATIO * step_ns, duration(step_ns)
    if not grounds.faithful:
        why = (
            grounds.why_none
            or _of_other_times(grounds, step_ns)
            or "Played again as it was recorded the job does not take as long as it did."
        ).removesuffix(".")
        text = f"{why}; nothing is said of who holds it up."
    elif grounds.why_unsaid:
        text = grounds.why_unsaid
    elif untold := _untold(grounds, step_ns):
        text = f"{untold}: who holds the job up cannot be said."
    elif judged.lacking_ns >= floor and roll.world_size and not _scope(roll):
        text = (
            f"No rank is seen to hold the others up; {duration(judged.lacking_ns)} of each {step} step are in collectives that "
            "some of their members recorded otherwise, and may be waiting for those."
        )
    elif judged.lacking_ns >= floor:
        text = (
            f"None of the ranks that are here holds the others up; {duration(judged.lacking_ns)} of each {step} step are in "
            "collectives with ranks that are not here, and may be waiting for those."
        )
    elif _scope(roll):
        # Those that are not here may be waiting for these, all at once.
        text = "None of the ranks that are here holds the others up for 5 % of a step or more."
    elif grounds.unlike:
        text = grounds.unlike[:1].upper() + grounds.unlike[1:]
    elif grounds.uncompared_ns >= floor and grounds.starved:
        text = (
            f"No rank is late by 5 % of a step or more. {grounds.starved}: what that costs inside collectives, "
            f"{duration(grounds.uncompared_ns)} of each {step} step, cannot be told from their links."
            + (f" {grounds.apart}" if grounds.apart else "")
        )
    elif grounds.uncompared_ns >= floor:
        return _nothing(
            "nobody",
            f"No rank or stage holds the others up for 5 % of a step or more. {duration(grounds.uncompared_ns)} of each {step} "
            "step move data in groups with no two equal ones beside them: whether their links are slow is not said."
            + (f" {grounds.pace}" if grounds.pace else ""),
        )
    else:
        return _nothing("nobody", "No rank, link or stage holds the others up for 5 % of a step or more.")
    return _nothing("not clear", text + _scope(roll))


def _of_other_times(grounds: Grounds, step_ns: int) -> str:
    """That ranks cannot have been in the same collectives by their clocks, as a sentence; empty where they can."""
    if grounds.error_ns < step_ns:
        return ""
    return (
        f"By their clocks ranks are in the same collectives {duration(grounds.error_ns)} apart or more, longer than a step of "
        f"{duration(step_ns)}: they are recordings of several runs, or machines of one name."
    )


def _untold(grounds: Grounds, step_ns: int) -> str:
    """Why ranks cannot be held against each other, in words; empty where they can."""
    floor, step = WORTH_RATIO * step_ns, duration(step_ns)
    if grounds.judged.unjudged_ns >= floor:
        return (
            f"{duration(grounds.judged.unjudged_ns)} of each {step} step are in collectives that could not be held against "
            "other ranks'"
        )
    if grounds.without_peers_ns >= floor:
        return (
            f"Ranks wait {duration(grounds.without_peers_ns)} of each {step} step for one another, and not all of them have "
            "peers that run the same collectives in the same order"
        )
    if grounds.error_ns >= floor:
        return f"The ranks' clocks agree to no better than {duration(grounds.error_ns)}"
    return ""


def _common(late: Together | None, whole: bool) -> str:
    """What ranks that are late together have in common, as sentences; empty where nothing is known."""
    if late is None or whole:
        return ""
    where = " They are all ranks of one machine." if late.one_machine else ""
    return f"{where} Why: {late.cause_detail}." if late.cause_detail else where


def _of_change(best: WhatIf, step_ns: int, roll: Roll, common: str = "") -> JobVerdict:
    ratio = best.saved_ns_per_step / step_ns if step_ns else 0.0
    least = "no less than " if best.at_most else ""
    text = (
        f"With {best.ideal} the step takes {least}{duration(best.step_ns)}, {duration(best.saved_ns_per_step)} less "
        f"({share(ratio)})."
    )
    held: dict[str, HeldUpBy] = {"links": "slow link", "stage": "slow stage"}
    return JobVerdict(
        held_up_by=held.get(best.scope, "several ranks"), rank=None, ratio=ratio, text=text + common + _scope(roll)
    )


def _of_loop(loop: OtherLoop) -> str:
    waits = f"{duration(loop.waited_ns)} {for_them(loop)} ({share(loop.waited_ratio)} of what they recorded)"
    return (
        f"{what_they_do(loop)}: the others wait {waits}. No other figure of the job counts that; how often it comes a longer "
        "recording tells."
    )


def _by_turns(alike: WhatIf, why: str, step_ns: int, roll: Roll) -> JobVerdict:
    ratio = alike.saved_ns_per_step / step_ns if step_ns else 0.0
    least = "no less than " if alike.at_most else ""
    text = (
        f"Each step waits for another rank{f', mostly for {why}' if why else ''}: with {alike.ideal} it takes "
        f"{least}{duration(alike.step_ns)}, {duration(alike.saved_ns_per_step)} less ({share(ratio)})."
    )
    return JobVerdict(held_up_by="several ranks", rank=None, ratio=ratio, text=text + _scope(roll))


def _nothing(held: HeldUpBy, text: str) -> JobVerdict:
    return JobVerdict(held_up_by=held, rank=None, ratio=0.0, text=text)


def _scope(roll: Roll) -> str:
    """What is not here, of which nothing can be said."""
    if not roll.world_size or len(roll.used) >= roll.world_size:
        return ""
    gone = roll.world_size - len(roll.used)
    here = {one.rank for one in roll.used}
    names = [str(rank) for rank in range(roll.world_size) if rank not in here] if gone <= _NAMED else []
    # A file may state a rank that the job does not have.
    which = f", {'rank' if gone == 1 else 'ranks'} {listed(names)}" if names and len(names) == gone else ""
    return f" {len(roll.used)} of {roll.world_size} ranks are here; nothing is known of the other {gone}{which}."
