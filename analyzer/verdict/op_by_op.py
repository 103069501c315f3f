"""Python between ops that is no code of the program's: the way from each op to the next, where ops are many and short."""

from __future__ import annotations

from analyzer.analysis import Verdict
from analyzer.verdict.case import Case

_OUTSIDE = "outside any op"
_MOST = 0.5


def op_by_op(case: Case) -> Verdict | None:
    """Names that way where most of what the rules found outside ops on the CPU is it; None where stacks tell of other code."""
    found, evidence = case.found, case.evidence.get("python")
    if found.bound_by != "python" or case.facts.device.main is not None or evidence is None or not evidence.fired:
        return None
    outside = evidence.claims & case.facts.time.waterfall.owned("python")
    if 2 * (outside & case.facts.time.ways_between_ops).total_ns <= outside.total_ns or _OUTSIDE not in found.text:
        return None
    way = case.facts.host.way_to_ops(outside)
    if way is not None and way.program_ratio > _MOST:
        return None
    return case.says("python", found.text.replace(_OUTSIDE, "on the way from one op to the next", 1))
