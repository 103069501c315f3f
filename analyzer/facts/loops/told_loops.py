"""Loops that have findings of their own, so that other rules leave their time alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.facts.loops.loop import Loop
from analyzer.spans.intervals import EMPTY, IntervalSet

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Shares of the used steps on the host from which a loop over elements, or over a list of tensors, is worth a finding.
ELEMENT_RATIO = 0.02
LIST_RATIO = 0.05


def may_be_the_steps(facts: Facts, loop: Loop) -> bool:
    """Whether a trace without steps is nothing but this loop: beside it there is less than two of its turns."""
    if facts.steps.source != "whole-trace" or not loop.repeats:
        return False
    return facts.window_ns - loop.spans.total_ns < 2 * loop.spans.total_ns / loop.repeats


def told_loops(facts: Facts) -> tuple[Loop, ...]:
    """Loops that have findings of their own (PY002, PY003, PY006)."""
    limited = facts.device is None or facts.launch_bound
    told = []
    for loop in facts.loops:
        elements = loop.indexed and loop.avoidable
        limit = ELEMENT_RATIO if elements else LIST_RATIO
        over_list = loop.over_list and not may_be_the_steps(facts, loop)
        known = elements or ((over_list or loop.steps_a_cell or loop.calls_experts) and limited)
        if known and facts.ratio(loop.spans.total_ns) >= limit:
            told.append(loop)
    return tuple(told)


def loop_time(facts: Facts) -> IntervalSet:
    """Time of the loops that have findings of their own: other rules leave it to them, and nobody else's."""
    limited = facts.device is None or facts.launch_bound
    passes = facts.passes.spans
    time = passes if limited and facts.ratio(passes.total_ns) >= LIST_RATIO else EMPTY
    for loop in told_loops(facts):
        time |= loop.spans
    return time
