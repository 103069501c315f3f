"""On a CPU-only trace the small ops of Python loops: their time is Python's, not the model's."""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.facts.loops.loop import mostly_claimed
from analyzer.spans.intervals import EMPTY, IntervalSet


class Looped(msgspec.Struct, frozen=True):
    """Time inside the ops of Python loops that have a finding, where dispatch is most of that time.

    Args:
        time: All of it.
        passes_ns: The part of it in the backward passes of one update but the first, with what each goes back through.
    """

    time: IntervalSet = EMPTY
    passes_ns: int = 0

    @property
    def ns(self) -> int:
        """All of it, in nanoseconds."""
        return self.time.total_ns


def looped(facts: Facts, claims: IntervalSet) -> Looped:
    """What of the computing is ops of loops.

    Args:
        facts: The measurements.
        claims: The time that rules on dispatch claim; a loop has a finding where that is most of its time outside ops.
    """
    if facts.device.main is not None:
        return Looped()
    passes = facts.loops.backward_passes
    outside, compute = facts.time.waterfall.owned("python"), facts.time.waterfall.owned("compute")

    def found(calling: IntervalSet, usual_op_ns: float) -> bool:
        return usual_op_ns < facts.time.dispatch_bound_op_ns and mostly_claimed(calling, outside, claims)

    loops = [loop.calling for loop in facts.loops.found if found(loop.calling, loop.usual_op_ns)]
    # Where calls go back through one graph, what they compute is wanted of each: one call for all computes as much.
    turns = passes.spans if not passes.again and found(passes.spans, passes.usual_op_ns) else EMPTY
    spans = turns
    for calling in loops:
        spans |= calling
    return Looped(spans & compute, (turns & compute).total_ns)
