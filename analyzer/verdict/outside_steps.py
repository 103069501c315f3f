"""What a verdict on steps is silent about: work of the recording that lies in none, where it is a good part of it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.units import duration, share

# A tenth of the recording is worth a word; less is how a profiler starts and stops.
_WORTH_A_WORD = 0.1
_EVALUATION = " It draws batches and runs no backward pass, as an evaluation does: record that by itself to judge it."


def outside_steps(facts: Facts) -> str:
    """How much of the recording lies in no step, and where, in sentences; empty where it is little."""
    found = facts.health.outside_steps
    if found.ratio < _WORTH_A_WORD:
        return ""
    ends = (("first", found.before_ns), ("last", found.after_ns))
    where = " and the ".join(f"{which} {duration(ns)}" for which, ns in ends if ns)
    return (
        f"{share(found.ratio)} of what was recorded, the {where}, lies in no {facts.steps.noun} and counts in no figure."
        f"{_EVALUATION if found.evaluates else ''}"
    )
