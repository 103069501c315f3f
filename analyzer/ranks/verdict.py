"""The job's verdict: one sentence that says who holds it up, or why nobody can say."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.ranks.document import HeldUpBy, JobVerdict, LateRank, WhatIf
from analyzer.ranks.matching import Matched
from analyzer.ranks.roll import Roll
from analyzer.units import count, duration, share

# Below this share of the step nothing that a change of links or stages saves is worth a sentence.
_WORTH_RATIO = 0.05


def job_verdict(
    roll: Roll, late: Sequence[LateRank], what_if: Sequence[WhatIf], step_ns: int, matched: Matched
) -> JobVerdict:
    """What holds the job up."""
    if len(roll.used) < 2:
        return _nothing("not clear", f"{count(len(roll.used), 'rank')} that can be held against others: too few")
    if not len(matched):
        return _nothing("not clear", "No collective of one rank could be matched with another's." + _scope(roll))
    best = next((one for one in what_if if one.scope in ("links", "stage")), None)
    saved = max((one.waited_ns_per_step for one in late if one.cause != "stage"), default=0)
    if best is not None and best.saved_ns_per_step > max(saved, _WORTH_RATIO * step_ns):
        return _of_change(best, step_ns, roll)
    if not late:
        return _nothing(
            "nobody", "No rank, link or stage holds the others up for 5 % of a step or more." + _scope(roll)
        )
    first = late[0]
    why = first.cause_detail if first.cause != "not clear" else f"why is not clear: {first.cause_detail}"
    since = "" if first.since_step is None else f", from step {first.since_step} on"
    text = (
        f"The others wait {duration(first.waited_ns_per_step)} of each {duration(step_ns)} step for rank {first.rank}"
        f"{since}: {why}."
    )
    more = f" {count(len(late) - 1, 'more rank')} late." if len(late) > 1 else ""
    ratio = first.waited_ns_per_step / step_ns if step_ns else 0.0
    return JobVerdict(held_up_by="late rank", rank=first.rank, ratio=ratio, text=text + more + _scope(roll))


def _of_change(best: WhatIf, step_ns: int, roll: Roll) -> JobVerdict:
    ratio = best.saved_ns_per_step / step_ns if step_ns else 0.0
    text = (
        f"With {best.ideal} the step takes {duration(best.step_ns)}, {duration(best.saved_ns_per_step)} less "
        f"({share(ratio)})."
    )
    held: HeldUpBy = "slow link" if best.scope == "links" else "slow stage"
    return JobVerdict(held_up_by=held, rank=None, ratio=ratio, text=text + _scope(roll))


def _nothing(held: HeldUpBy, text: str) -> JobVerdict:
    return JobVerdict(held_up_by=held, rank=None, ratio=0.0, text=text)


def _scope(roll: Roll) -> str:
    """What is not here, of which nothing can be said."""
    if not roll.world_size or len(roll.used) >= roll.world_size:
        return ""
    gone = roll.world_size - len(roll.used)
    return f" {len(roll.used)} of {roll.world_size} ranks are here; nothing is known of the other {gone}."
