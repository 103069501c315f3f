"""What to do where stacks, ranges or a row of ops say by name what the time outside ops is spent in."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from rules import adapters
from rules.communication import buffers
from rules.guards import FEWER_GUARDS, in_guards
from rules.python import objects_sent


def remedies(facts: Facts, time: IntervalSet) -> tuple[Advice, ...]:
    """The fixes for guards of compiled code, merged adapters, DDP's list of buffers or objects that are sent; else nothing."""
    if 2 * in_guards(facts, time).total_ns > time.total_ns:
        return FEWER_GUARDS
    return adapters.kept(facts, time) or buffers.listed(facts, time) or objects_sent.remedies(facts, time)
