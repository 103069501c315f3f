"""Many stretches outside ops, each too short to be told from the way to the next op: whose code they are, where stacks tell."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Outcome, cannot_tell, clear
from analyzer.rule import Limits
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share
from rules.commands import collect
from rules.python.between_ops import MOST, between
from rules.python.stretches import least_ns, outside_ops, uncounted_ns


def outcome(facts: Facts, long: IntervalSet, limits: Limits, claimed: IntervalSet) -> Outcome | None:
    """What is said of them; None where most of them are the program's own code, which is a finding.

    Args:
        facts: The measurements.
        long: The stretches that are long enough to count.
        limits: The rule's.
        claimed: Time of other rules.
    """
    short = outside_ops(facts, claimed) - long
    taken = (
        f"host code outside any op takes {share(facts.steps.ratio(short.total_ns))} of the step in stretches below "
        f"{duration(least_ns(facts, limits))}{between(facts, short)}"
    )
    way = facts.host.way_to_ops(short)
    if way is None:
        return cannot_tell(
            f"{taken}: the way from one small op to the next, or the program's own code, as of a simulator; "
            f"`{collect(facts, '--stacks')}` tells which"
        )
    if way.program_ratio > MOST:
        return None
    return clear(
        f"{taken}; by the stacks {share(1 - way.program_ratio)} of that is torch's own: the way from one small op to the next"
    )


def words(facts: Facts, long: IntervalSet, claimed: IntervalSet, min_ratio: float) -> str:
    """On a CPU-only trace what the stretches too short to be counted come to: many small ops have as many ways between them."""
    if facts.device.main is not None:
        return ""
    taken_ns = uncounted_ns(facts, long, claimed)
    if facts.steps.ratio(taken_ns) < min_ratio:
        return ""
    taken = share(facts.steps.ratio(taken_ns))
    place = between(facts, outside_ops(facts, claimed) - long)
    return f"; stretches too short to tell from the way to the next op take {taken}{place}"
