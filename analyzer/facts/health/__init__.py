"""Profiling hygiene, measured once: what may make the figures of this trace wrong (codes PG001-PG008 of rules.md).

`analyzer.trust` turns these symptoms into the verdict; the rules under `rules/profiling` turn them into pages and findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.facts.health import (
    artefacts,
    correlation,
    coverage,
    crowding,
    cut,
    graphs,
    instrumentation,
    late_work,
    merged,
    repairs,
    resolution,
    scale,
    steps,
    strangers,
    timeless,
    unlaunched,
    unlikely,
    warmup,
)
from analyzer.facts.health.symptom import Gravity, Symptom

if TYPE_CHECKING:
    from analyzer.facts import Facts

__all__ = ["Gravity", "Symptom", "symptoms"]

_CHECKS = (
    merged.check,
    cut.check,
    coverage.check,
    timeless.check,
    unlaunched.check,
    strangers.check,
    graphs.check,
    repairs.check,
    steps.check,
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
    """Every symptom of the trace, gravest first."""
    found = [symptom for check in _CHECKS for symptom in check(facts)]
    return tuple(sorted(found, key=lambda symptom: -symptom.gravity))
