"""How long a step would be if one thing were perfect and the rest as recorded."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis.hardware import Ceiling
from analyzer.facts import Facts
from analyzer.hardware.operators import Operators
from analyzer.hardware.roofline import Place


def ceilings(facts: Facts, found: Operators | None = None, places: Sequence[Place] = ()) -> tuple[Ceiling, ...]:
    """Overlap, recomputation and roofline; without operators the first two.

    Args:
        facts: The measurements.
        found: Operators with a formula.
        places: Where each stands.
    """
    if not facts.steps.total_ns:
        return unknown_ceilings("there are no used steps")
    return (_overlap(facts), _recomputation(facts), _roofline(facts, found, places))


def _overlap(facts: Facts) -> Ceiling:
    """Copies and collectives beside compute: then the longest of the three is what they take together."""
    main = facts.device.main
    if main is None:
        return Ceiling(name="overlap", step_ns=None, reason="no device work was recorded")
    parts = [one & facts.steps.window for one in (main.compute, main.collective, main.copy)]
    together = parts[0] | parts[1] | parts[2]
    hidden = together.total_ns - max(part.total_ns for part in parts)
    return Ceiling(name="overlap", step_ns=_step(facts, hidden), reason="")


def _recomputation(facts: Facts) -> Ceiling:
    found = facts.kernels.recomputation
    if found.unclear:
        return Ceiling(name="recomputation", step_ns=None, reason="a backward pass of the user's own runs forward ops")
    return Ceiling(name="recomputation", step_ns=_step(facts, found.spans.total_ns), reason="")


def _roofline(facts: Facts, found: Operators | None, places: Sequence[Place]) -> Ceiling:
    known = [
        one.device_ns - at.least_ns
        for one, at in zip(found.rows if found else (), places, strict=True)
        if at.least_ns is not None
    ]
    if not known:
        return Ceiling(name="roofline", step_ns=None, reason="no operator has a roofline")
    # Kernels side by side may lose more than the step is long.
    return Ceiling(name="roofline", step_ns=_step(facts, sum(known)), reason="")


def _step(facts: Facts, less_ns: float) -> int:
    return round(max(0.0, facts.steps.per_step(facts.steps.total_ns - less_ns)))


def unknown_ceilings(reason: str) -> tuple[Ceiling, ...]:
    """None of them can be told."""
    return (
        Ceiling(name="overlap", step_ns=None, reason=reason),
        Ceiling(name="recomputation", step_ns=None, reason=reason),
        Ceiling(name="roofline", step_ns=None, reason=reason),
    )
