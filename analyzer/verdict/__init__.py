"""The verdict sentence: what the run is bound by, with its share; compute-bound included.

First the shares of the causes decide (`shares.py`); then the first line of a table that applies has the last word (`overrides.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from analyzer.analysis import Verdict
from analyzer.facts import Facts
from analyzer.page.words.of_steps import put
from analyzer.spans.intervals import EMPTY
from analyzer.step_words import speaks_of_training
from analyzer.verdict.case import Case, Evidence
from analyzer.verdict.in_one_step import in_one_step
from analyzer.verdict.looped import looped
from analyzer.verdict.overrides import OVERRIDES
from analyzer.verdict.seldom_pauses import left_out, seldom_pauses_ns
from analyzer.verdict.shares import is_update_most, verdict

__all__ = ["Evidence", "Judgement", "judgement_of", "verdict"]


class Judgement(msgspec.Struct, frozen=True):
    """A verdict, and what its sentence has told already.

    Args:
        verdict: What the run is bound by.
        names_update: Whether it names the update as most of what is computed.
    """

    verdict: Verdict
    names_update: bool = False


def judgement_of(
    facts: Facts, totals: Mapping[str, int], *, unusable: bool = False, evidence: Mapping[str, Evidence] | None = None
) -> Judgement:
    """What the run is bound by, as far as its trace can tell, and what that says already.

    Args:
        facts: The measurements.
        totals: Nanoseconds by cause over the used steps.
        unusable: Whether the trace cannot be the base of advice.
        evidence: What the rules for a bound say, by bound; a bound without rules needs none.
    """
    if unusable:
        return Judgement(
            Verdict(bound_by="unknown", ratio=0.0, text="Unknown: this trace cannot be the base of advice.")
        )
    seldom_ns = seldom_pauses_ns(facts, totals)
    totals = {cause: ns - seldom_ns if cause == "python" else ns for cause, ns in totals.items()}
    of_launching = (evidence or {}).get("launch")
    loops = looped(facts, of_launching.claims if of_launching else EMPTY)
    beside = (facts.model.outside_passes & facts.time.waterfall.owned("compute")) - loops.time
    waits = facts.time.device_waits
    found = verdict(
        totals,
        has_device=facts.device.main is not None,
        lead_ns=facts.time.lead_ns,
        warmup_ratio=_warmup_ratio(facts),
        loops=loops,
        beside_ns=beside.total_ns,
        waits={name: getattr(waits, name).total_ns for name in waits.__struct_fields__},
        take_turns=facts.time.devices_take_turns,
    )
    case = Case(facts, totals, found, loops.ns, evidence or {}, seldom_ns)
    answers = (override(case) for override in OVERRIDES)
    said = in_one_step(case, next((answer for answer in answers if answer is not None), found))
    # The sentences are written of a step; what was recorded may be a request, or the whole recording.
    text = said.text + left_out(seldom_ns, facts)
    said = msgspec.structs.replace(said, text=put(text, facts.steps.noun, trains=speaks_of_training(facts)))
    total = sum(totals.values())
    names_update = (
        said.bound_by == "compute"
        and facts.device.main is None
        and is_update_most(found.ratio, totals.get("optimizer", 0) / total, beside.total_ns / total)
    )
    return Judgement(said, names_update)


def _warmup_ratio(facts: Facts) -> float:
    """Share of the used steps that start-up work takes: what was recorded beside them binds nothing."""
    return facts.steps.ratio((facts.health.warmup[0] & facts.steps.window).total_ns)
