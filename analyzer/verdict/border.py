"""Communication near a border between two verdicts: mixed, with both shares.

The ranks of one job share their collectives, and differ by up to 5 points of compute (17 and 22 % in HTA's two ranks): this close
to a border the same communication would be called one thing on one rank and another on the next.
"""

from __future__ import annotations

from analyzer.analysis import BoundBy, Verdict
from analyzer.units import share
from analyzer.verdict.case import Case
from analyzer.verdict.shares import (
    BOUND_PART_OF_LOSS,
    BOUND_RATIO,
    COMPUTE_HALF,
    COMPUTE_RATIO,
    LOSSES,
    WORTH_NAMING,
    grouped,
)

_BORDER_RATIO = 0.05
_ALONE = "collectives with no compute beside them"


def at_the_border(case: Case) -> Verdict | None:
    """A mixed verdict where exposed communication meets compute, or another loss, near the border between them."""
    if case.found.bound_by not in (*LOSSES, "compute") or not sum(case.totals.values()):
        return None
    ratios = _losses(case)
    alone = ratios.pop("communication", 0.0)
    other, next_ratio = max(ratios.items(), key=lambda item: item[1], default=("unknown", 0.0))
    if alone < BOUND_RATIO:
        return None
    if case.found.bound_by in ("compute", "communication") and _meets_compute(_compute(case), alone):
        text = f"compute takes {share(_compute(case))} of the step, and {_ALONE} {share(alone)}"
        third = f"; then {LOSSES[other]} with {share(next_ratio)}" if next_ratio >= WORTH_NAMING else ""
        return Verdict(bound_by="mixed", ratio=alone, text=f"Mixed: {text}{third}.")
    if case.found.bound_by in ("communication", other) and abs(alone - next_ratio) <= _BORDER_RATIO:
        text = f"Mixed: {_ALONE} take {share(alone)} of the step, and {LOSSES[other]} {share(next_ratio)}."
        return Verdict(bound_by="mixed", ratio=max(alone, next_ratio), text=text)
    return None


def _meets_compute(compute: float, alone: float) -> bool:
    """Whether a few points more of either would make the other the verdict."""
    if alone < BOUND_PART_OF_LOSS * (1 - compute):
        return False
    barely_large = COMPUTE_HALF <= compute < COMPUTE_RATIO and alone <= BOUND_RATIO + _BORDER_RATIO
    return barely_large or abs(compute - COMPUTE_RATIO) <= _BORDER_RATIO


def _compute(case: Case) -> float:
    if case.found.bound_by == "compute":
        return case.found.ratio
    useful = ("compute",) if case.facts.device.main is not None else ("compute", "optimizer")
    return sum(case.totals.get(cause, 0) for cause in useful) / sum(case.totals.values())


def _losses(case: Case) -> dict[BoundBy, float]:
    """Shares of the step by loss."""
    waits = case.facts.time.device_waits
    parts = {name: getattr(waits, name).total_ns for name in waits.__struct_fields__}
    has_device = case.facts.device.main is not None
    ratios = grouped(case.totals, parts, sum(case.totals.values()), has_device=has_device)
    ratios.pop("compute", None)
    return ratios
