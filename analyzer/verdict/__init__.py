"""The verdict sentence: what the run is bound by, with its share; compute-bound included.

First the shares of the causes decide (`shares.py`); then the first line of a table that applies has the last word (`overrides.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from analyzer.analysis import Verdict
from analyzer.facts import Facts
from analyzer.facts.time.host_loss import DISPATCH_BOUND_OP_NS
from analyzer.page.words.of_steps import put
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.step_words import speaks_of_training
from analyzer.verdict.case import Case, Evidence
from analyzer.verdict.in_one_step import in_one_step
from analyzer.verdict.overrides import OVERRIDES
from analyzer.verdict.shares import verdict

__all__ = ["Evidence", "verdict", "verdict_of"]


def verdict_of(
    facts: Facts, totals: Mapping[str, int], *, unusable: bool = False, evidence: Mapping[str, Evidence] | None = None
) -> Verdict:
    """What the run is bound by, as far as its trace can tell.

    Args:
        facts: The measurements.
        totals: Nanoseconds by cause over the used steps.
        unusable: Whether the trace cannot be the base of advice.
        evidence: What the rules for a bound say, by bound; a bound without rules needs none.
    """
    if unusable:
        return Verdict(bound_by="unknown", ratio=0.0, text="Unknown: this trace cannot be the base of advice.")
    of_launching = (evidence or {}).get("launch")
    loops_ns = _small_op_loops_ns(facts, of_launching.claims if of_launching else EMPTY)
    waits = facts.time.device_waits
    found = verdict(
        totals,
        has_device=facts.device.main is not None,
        lead_ns=facts.time.lead_ns,
        warmup_ratio=_warmup_ratio(facts),
        loops_ns=loops_ns,
        waits={name: getattr(waits, name).total_ns for name in waits.__struct_fields__},
    )
    case = Case(facts, totals, found, loops_ns, evidence or {})
    answers = (override(case) for override in OVERRIDES)
    said = in_one_step(case, next((answer for answer in answers if answer is not None), found))
    # The sentences are written of a step; what was recorded may be a request, or the whole recording.
    return msgspec.structs.replace(said, text=put(said.text, facts.steps.noun, trains=speaks_of_training(facts)))


def _small_op_loops_ns(facts: Facts, claims: IntervalSet) -> int:
    """On a CPU-only trace the time inside the ops of Python loops that have a finding, where dispatch is most of that time.

    Args:
        facts: The measurements.
        claims: The time that rules on dispatch claim; a loop has a finding where that is most of its time outside ops.
    """
    if facts.device.main is not None:
        return 0
    passes = facts.loops.backward_passes
    loops = [(loop.calling, loop.usual_op_ns) for loop in facts.loops.found] + [(passes.spans, passes.usual_op_ns)]
    outside, spans = facts.time.waterfall.owned("python"), EMPTY
    for calling, usual_op_ns in loops:
        own = calling & outside
        if own and usual_op_ns < DISPATCH_BOUND_OP_NS and 2 * (own & claims).total_ns > own.total_ns:
            spans |= calling
    return (spans & facts.time.waterfall.owned("compute")).total_ns


def _warmup_ratio(facts: Facts) -> float:
    """Share of the used steps that start-up work takes: what was recorded beside them binds nothing."""
    return facts.steps.ratio((facts.health.warmup[0] & facts.steps.window).total_ns)
