"""Severity of a saving: its share of the step, and nothing else."""

from __future__ import annotations

from analyzer.finding import Severity

# Shares of the step at which a saving becomes high, medium, low (rules.md, "State and severity").
_RATIOS = ((0.20, Severity.HIGH), (0.10, Severity.MEDIUM), (0.05, Severity.LOW))
_ORDER = (Severity.INFO, Severity.LOW, Severity.MEDIUM, Severity.HIGH)


def severity_of(ratio: float) -> Severity:
    """The severity of a saving that is such a share of the step."""
    return next((name for limit, name in _RATIOS if ratio >= limit), Severity.INFO)


def least(*severities: Severity) -> Severity:
    """The lowest of some severities."""
    return min(severities, key=_ORDER.index)
