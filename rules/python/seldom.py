"""Host code that a few of the steps hold: an event of the recording, of which it is not known how often it comes."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.python.advice import LESS_OFTEN

ONE = "what one step holds says nothing of how often it comes"
CAVEAT = "A few recorded steps do not tell how often this happens."
BASIS = "; over a run it depends on how often it comes"


def steps_of(facts: Facts, time: IntervalSet) -> int | None:
    """How many steps hold most of it, where they are few; None where it recurs."""
    return facts.steps.few_with_most(time)


def words(facts: Facts, time: IntervalSet) -> str:
    """How much it is, and of what: of each step, or of the recorded ones where a few hold most of it."""
    of, few = share(facts.steps.ratio(time.total_ns)), steps_of(facts, time)
    if few is None:
        return f"{duration(facts.steps.per_step(time.total_ns))} of {facts.steps.each} ({of})"
    return (
        f"{duration(time.total_ns)} in all ({of} of the recorded steps), most of it in {few} of "
        f"{count(facts.steps.count, 'step')},"
    )


def at_most(facts: Facts, time: IntervalSet, confidence: Confidence) -> Confidence:
    """What may be said of it as surely as this: of what was seen once only that it was."""
    few = steps_of(facts, time)
    if few is None or confidence is Confidence.LOW:
        return confidence
    return Confidence.LOW if few == 1 else Confidence.MEDIUM


def less_often(facts: Facts, time: IntervalSet) -> tuple[Advice, ...]:
    """What comes in the lesser part of the steps may be no part of making a batch."""
    seldom = steps_of(facts, time) is not None or 2 * facts.steps.count_with(time) < facts.steps.count
    return (LESS_OFTEN,) if seldom else ()
