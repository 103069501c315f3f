"""Fixes for programs that train, and for those that only run their model: the one, the other, or both with what each is for.

A recording of a forward pass alone is what a server leaves, and a validation pass, a benchmark of the forward pass, or half of a
training step. Where the trace shows neither training nor serving, a fix for one of them would be advice for the wrong program.
"""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice

_RUNS = "Where the program only runs its model:"
_TRAINS = "Where it trains, and only forward passes were recorded:"


def by_purpose(facts: Facts, running: tuple[Advice, ...], training: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """The fixes for this kind of program; where the trace does not tell which it is, both, each with its condition.

    Args:
        facts: The measurements.
        running: For a program that only runs its model.
        training: For one that trains.
    """
    if not facts.model.infers:
        return training
    if not facts.model.may_train or running == training:
        return running
    return (*(_only(advice, _RUNS) for advice in running), *(_only(advice, _TRAINS) for advice in training))


def _only(advice: Advice, condition: str) -> Advice:
    return replace(advice, note=f"{condition} {advice.note[:1].lower()}{advice.note[1:]}")
