"""Launches behind a call that waits for the device: the host could have made them beside the device's work, had it not waited."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import duration

# From half of the time on the wait is the question, not how fast the host is.
_MOST = 0.5


def hidden(facts: Facts, time: IntervalSet) -> IntervalSet:
    """What of some idle time follows a wait that lasted as long beside a busy device; nothing where that is not most of it."""
    found = facts.sync.programs_removable & time
    return found if found.total_ns > _MOST * time.total_ns else EMPTY


def sentence(facts: Facts, time: IntervalSet) -> str:
    """What to say of it, with a space before it; empty where there is none."""
    found = hidden(facts, time)
    if not found:
        return ""
    after, stood = (duration(facts.steps.per_step(ns)) for ns in (found.total_ns, facts.sync.programs_free_ns))
    return (
        f" {after} of it {facts.steps.a_unit} comes after the host waited for the GPU ({_where(facts)}), {stood} while that "
        "worked: without the waits it would launch this meanwhile."
    )


def wait_later(facts: Facts, time: IntervalSet) -> tuple[Advice, ...]:
    """To let the host run ahead; empty where that does not help."""
    if not hidden(facts, time):
        return ()
    return (
        Advice(
            "text",
            f"Let the host run ahead: take the waits for the GPU out of the step ({_where(facts)}), or move them behind its last "
            "launch.",
            "A value that decides nothing now can be read every hundredth step, or a step late.",
        ),
    )


def _where(facts: Facts) -> str:
    """The op, or the call, that the host waits longest in."""
    return f"`{facts.sync.programs_waits.longest}`"
