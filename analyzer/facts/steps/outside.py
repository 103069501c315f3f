"""What was recorded and lies in no step: an evaluation behind the last one, or what a program does before its first.

What lies between two marks belongs to the step before it. Only before the first step and behind the last one work belongs to none,
and no figure holds it.
"""

from __future__ import annotations

import msgspec

from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any, matching
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace


class OutsideSteps(msgspec.Struct, frozen=True):
    """Work that lies in no step.

    Args:
        before_ns: From the first work of all to the first step; 0 where that is the first.
        after_ns: From the last step to the last work of all; 0 where nothing follows.
        recorded_ns: From the first work, or step, to the last.
        evaluates: Whether it draws batches and runs no backward pass, and the steps have one.
    """

    before_ns: int
    after_ns: int
    recorded_ns: int
    evaluates: bool

    @property
    def ratio(self) -> float:
        """Share of the recording that lies in no step, 0..1; 0 where nothing was recorded."""
        return (self.before_ns + self.after_ns) / self.recorded_ns if self.recorded_ns else 0.0


def outside_steps(trace: Trace, steps: Steps) -> OutsideSteps:
    """How much of what was recorded lies before the first step and behind the last, used or not.

    Args:
        trace: The trace.
        steps: Its steps.
    """
    first, last = int(steps.frame["host_start_ns"].min()), int(steps.frame[["host_end_ns", "end_ns"]].max().max())
    work = [part for part in (trace.ops, trace.runtime, trace.collectives, trace.kernels, trace.copies) if len(part)]
    begins = min((int(part["start_ns"].min()) for part in work), default=first)
    ends = max((int(part["end_ns"].max()) for part in work), default=last)
    if trace.whole_until_ns is not None:
        # Steps that the end of a cut file took something from are dropped, which is said: what follows the last is their beginning.
        dropped = any(repair.kind == "partial-step" for repair in trace.repairs)
        ends = last if dropped else min(ends, trace.whole_until_ns)
    before, after = max(first - begins, 0), max(ends - last, 0)
    outside = IntervalSet.of([(first - before, first), (last, last + after)])
    return OutsideSteps(before, after, last + after - (first - before), _evaluates(trace, steps, outside))


def _evaluates(trace: Trace, steps: Steps, outside: IntervalSet) -> bool:
    """Whether batches are drawn there without a backward pass, while the steps have one."""
    if not outside:
        return False
    draws = trace.annotations["start_ns"].to_numpy()[is_any(trace.annotations["kind"], "loader")]
    # Where a file ends early, one batch may be that of a step whose backward pass is lost.
    if int(outside.contains(draws).sum()) < (1 if trace.whole_until_ns is None else 2):
        return False
    passes = trace.ops["start_ns"].to_numpy()[matching(trace.ops["name"], is_backward_node)]
    return bool(steps.host_window.contains(passes).any()) and not outside.contains(passes).any()
