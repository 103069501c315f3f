"""Time in which the device idles while the host stands in a collective of its own: communication, whatever runs beside it."""

from __future__ import annotations

from analyzer.analysis import Verdict
from analyzer.units import share
from analyzer.verdict.case import Case
from analyzer.verdict.shares import BOUND_RATIO

# Less than this of a step is not worth a word beside what holds it up.
_WORTH_A_WORD = 0.1


def in_gloo(case: Case) -> Verdict | None:
    """Where the host stands in gloo's collectives for most of what the device idles, and a rule says so."""
    evidence = case.evidence.get("communication")
    if (
        case.facts.device.main is None
        or case.found.bound_by == "communication"
        or evidence is None
        or not evidence.fired
    ):
        return None
    idle = case.facts.time.idle & case.facts.steps.window
    inside = idle & case.facts.communication.calls_of("gloo")
    ratio = case.facts.steps.ratio(inside.total_ns)
    if ratio < BOUND_RATIO or 2 * inside.total_ns <= idle.total_ns:
        return None
    more = case.facts.steps.ratio(case.totals.get("communication", 0))
    beside = (
        f"; collectives of the device with no compute beside them take {share(more)}" if more >= _WORTH_A_WORD else ""
    )
    text = f"Communication-bound: for {share(ratio)} of the step the device idles while the host is in gloo's collectives{beside}."
    return Verdict(bound_by="communication", ratio=ratio, text=text)
