"""What to do about host code of which neither stacks nor samples name a line: by what lies around it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from rules.python import after_reads, in_framework, prepared
from rules.python.advice import look, simulator
from rules.python.between_ops import acts_on_values, on_arrays
from rules.python.measuring import MEASURED_SELDOM
from rules.transfer.advice import COMPUTED_ON_DEVICE


def remedies(
    facts: Facts, time: IntervalSet, late: tuple[Advice, ...], moving: tuple[Advice, ...]
) -> tuple[Advice, ...]:
    """What to do about it, the likeliest first.

    Args:
        facts: The measurements.
        time: Idle time of the host code.
        late: To use values a step late, where that helps.
        moving: Other places for it, where it may prepare data.
    """
    if not in_framework.unnamed(facts) and (places := prepared.remedies(facts, time)):
        return (*places, look(facts))
    if (read := after_reads.in_between(facts, time)) is not None:
        return (read, look(facts), *late)
    if not acts_on_values(facts, time) or in_framework.unnamed(facts):
        # Arrays once a step are measured, plotted or kept as often as anything else.
        measured = (MEASURED_SELDOM,) if on_arrays(facts, time) and not _often(facts, time) else ()
        return (look(facts), *late, *measured, *moving)
    through = facts.transfer.through_host.host & time
    if 2 * through.total_ns > time.total_ns:
        return (COMPUTED_ON_DEVICE, look(facts), *late)
    # Once a step the loss may have been read, and the next batch be made by other means than a DataLoader; more often no batch is.
    others = simulator(facts)
    return (
        (look(facts), others, *late)
        if _often(facts, time)
        else (look(facts), *late, *(one for one in moving if one != others), others)
    )


def _often(facts: Facts, time: IntervalSet) -> bool:
    """Whether the place that holds most of the time comes several times a step."""
    return facts.steps.noun != "recording" and facts.sync.silences(time)[0].stretches > facts.steps.count
