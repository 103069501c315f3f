"""What a step pays for each op and for itself, however little is computed."""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.facts.loops.loop import mostly_claimed
from analyzer.spans.intervals import EMPTY, IntervalSet


class Paid(msgspec.Struct, frozen=True):
    """What the used steps pay for each op and each step.

    Args:
        ways: The ways from op to op.
        update: The update of the weights.
        claimed: Time of other rules.
        ops_ns: What short ops take, but those that other rules have found.
        own_ratio: What of all that the profiler did not add, 0..1.
    """

    ways: IntervalSet
    update: IntervalSet
    claimed: IntervalSet
    ops_ns: int
    own_ratio: float

    @property
    def way_ns(self) -> int:
        """On the way from op to op, as recorded."""
        return (self.ways - self.claimed).total_ns

    @property
    def update_ns(self) -> int:
        """In the update, as recorded."""
        return (self.update - self.claimed).total_ns

    @property
    def recorded_ns(self) -> int:
        """All of it that no other rule has found, as recorded."""
        return self.way_ns + self.update_ns + self.ops_ns

    @property
    def left_ns(self) -> int:
        """The same without what the profiler added."""
        return int(self.own_ratio * self.recorded_ns)


def paid_for(facts: Facts, claimed: IntervalSet) -> Paid:
    """Measures it.

    Args:
        facts: The measurements.
        claimed: Time of other rules.
    """
    ways, update = facts.time.ways_between_ops, facts.time.waterfall.owned("optimizer")
    inside = facts.time.waterfall.owned("compute")
    told = _loops_told(facts, claimed)
    all_ns = _dispatch_ns(facts, inside)
    # All ops are looked up for it, and most programs have no such loop.
    ops_ns = _dispatch_ns(facts, inside - told) if told else all_ns
    recorded = max(ways.total_ns + update.total_ns + all_ns, 1)
    return Paid(ways, update, claimed, ops_ns, max(0.0, 1 - added_ns(facts) / recorded))


def _dispatch_ns(facts: Facts, inside: IntervalSet) -> int:
    return int(inside.total_ns * facts.time.dispatch_ratio(inside))


def added_ns(facts: Facts) -> int:
    """What the profiler added to the used steps; 0 where no step was timed without it."""
    return (facts.recording.collected.profiler_ns or 0) * facts.steps.count


def _loops_told(facts: Facts, claimed: IntervalSet) -> IntervalSet:
    """Loops that other rules have found."""
    outside, found = facts.time.waterfall.owned("python"), EMPTY
    for loop in facts.loops.found:
        if mostly_claimed(loop.calling, outside, claimed):
            found |= loop.calling
    return found
