"""Profiling hygiene, measured once: what may make the figures of this trace wrong (codes PG001-PG008 of rules.md).

`analyzer.engine.trust` turns these symptoms into the verdict; the rules under `rules/profiling` turn them into pages and findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from analyzer.facts.health import failed
from analyzer.facts.health.clocks import late_work, resolution, scale, unlikely
from analyzer.facts.health.complete import (
    coverage,
    cut,
    graphs,
    missing_durations,
    missing_launches,
    repairs,
    unknown_categories,
)
from analyzer.facts.health.disturbance import artefacts, crowding, instrumentation
from analyzer.facts.health.linked import correlation, merged
from analyzer.facts.health.steps import few, warmup
from analyzer.facts.health.symptom import Gravity, Symptom

if TYPE_CHECKING:
    from analyzer.facts import Facts

__all__ = ["Gravity", "Symptom", "symptoms"]

_CHECKS = (
    merged.check,
    cut.check,
    coverage.check,
    missing_durations.check,
    missing_launches.check,
    unknown_categories.check,
    graphs.check,
    repairs.check,
    few.check,
    warmup.check,
    instrumentation.check,
    crowding.check,
    correlation.check,
    artefacts.check,
    late_work.check,
    resolution.check,
    scale.check,
    unlikely.check,
)


def symptoms(facts: Facts) -> tuple[Symptom, ...]:
    """Every symptom of the trace, gravest first; what a check that fails would have found is not known, and said to be so."""
    found = [symptom for check in _CHECKS for symptom in _checked(check, facts)]
    # Last: the others show what cannot be measured.
    found += failed.check(facts)
    return tuple(sorted(found, key=lambda symptom: -symptom.gravity))


def _checked(check: Callable[[Facts], Iterable[Symptom]], facts: Facts) -> tuple[Symptom, ...]:
    name = f"{failed.OF_TRUST} {check.__module__.rpartition('.')[2]}"
    return facts.attempt(name, lambda: tuple(check(facts)), ())
