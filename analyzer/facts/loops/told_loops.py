"""Loops that have findings of their own, so that other rules leave their time alone."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.loops.backward_passes import Passes
from analyzer.facts.loops.loop import Loop
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import EMPTY, IntervalSet

# Shares of the used steps on the host from which a loop over elements, or over a list of tensors, is worth a finding.
ELEMENT_RATIO = 0.02
LIST_RATIO = 0.05


def may_be_the_steps(steps: Steps, loop: Loop) -> bool:
    """Whether a trace without steps is nothing but this loop: beside it there is less than two of its turns."""
    if steps.source != "whole-trace" or not loop.repeats:
        return False
    return steps.total_ns - loop.spans.total_ns < 2 * loop.spans.total_ns / loop.repeats


def told_loops(device: DeviceFacts, steps: Steps, time: TimeFacts, loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """Loops that have findings of their own (PY002, PY003, PY006)."""
    limited = device.main is None or time.launch_bound
    told = []
    for loop in loops:
        elements = loop.indexed and loop.avoidable
        limit = ELEMENT_RATIO if elements else LIST_RATIO
        over_list = loop.over_list and not may_be_the_steps(steps, loop)
        known = elements or ((over_list or loop.steps_a_cell or loop.calls_experts) and limited)
        if known and steps.ratio(loop.spans.total_ns) >= limit:
            told.append(loop)
    return tuple(told)


def loop_time(
    device: DeviceFacts, steps: Steps, time: TimeFacts, backward_passes: Passes, loops: tuple[Loop, ...]
) -> IntervalSet:
    """Time of the loops that have findings of their own: other rules leave it to them, and nobody else's."""
    limited = device.main is None or time.launch_bound
    passes = backward_passes.spans
    spans = passes if limited and steps.ratio(passes.total_ns) >= LIST_RATIO else EMPTY
    for loop in told_loops(device, steps, time, loops):
        spans |= loop.spans
    return spans
