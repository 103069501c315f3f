"""Facts, trust and rule runs to the one document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import msgspec

from analyzer import analysis as doc
from analyzer.assemble.finding import finding_document
from analyzer.assemble.steps import MOST_STEPS, step_rows, timeline
from analyzer.assemble.summary import MOST_DEVICES, summary
from analyzer.assemble.trace_info import trace_info
from analyzer.engine import Judged, RuleRun
from analyzer.engine.trust import TrustGrade, verdict_of
from analyzer.engine.what_if import what_if
from analyzer.facts import Facts
from analyzer.facts.recording.recorded_totals import recorded_totals
from analyzer.hardware.document import hardware
from analyzer.page.words.of_steps import put
from analyzer.step_words import speaks_of_training
from analyzer.views.timeline import DrawnStep, representative_step, slowest_step

DISTRIBUTION = "trace-advisor"


@cache
def tool_version() -> str:
    """Version of the installed distribution, looked up once a process; `unknown` when run from a bare checkout."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def assemble(
    facts: Facts,
    trust: TrustGrade,
    runs: Sequence[RuleRun],
    judged: Sequence[Judged],
    accepted: Mapping[str, str] | None = None,
) -> doc.Analysis:
    """The document of one trace.

    Args:
        facts: The measurements.
        trust: The grade; findings of an unusable trace are left out of the document.
        runs: What became of each rule.
        judged: Findings, best first.
        accepted: Reasons by id of the findings the team lives with.
    """
    reasons = accepted or {}
    shown = () if trust.verdict == "unusable" else tuple(judged)
    known = set(facts.failures)
    representative = facts.attempt("representative step", lambda: representative_step(facts), None)
    documents = [_finding(facts, item, representative, reasons.get(item.identity)) for item in shown]
    document = doc.Analysis(
        schema_version=doc.SCHEMA_VERSION,
        tool=doc.Tool(name=DISTRIBUTION, version=tool_version()),
        trace=trace_info(facts),
        trust=_trust(facts, trust, shown),
        repairs=tuple(
            doc.Repair(
                kind=item.kind,
                count=item.count,
                first_offset=item.first_offset,
                first_event=item.first_event,
                message=item.message,
            )
            for item in facts.trace.repairs
        ),
        summary=summary(facts, trust, runs, shown, representative),
        findings=tuple(one for one in documents if one is not None),
        checks=tuple(_check(run, trains=speaks_of_training(facts)) for run in runs),
        steps=step_rows(facts, representative),
        timeline=facts.attempt("timeline", lambda: timeline(facts, representative), timeline(facts, None)),
        slowest=facts.attempt("slowest step", lambda: _slowest(facts), None),
        totals=facts.attempt("totals", lambda: _totals(facts), ()),
        hardware=facts.attempt("hardware", lambda: hardware(facts), None),
        what_if=facts.attempt("what fixes give together", lambda: what_if(facts, shown), None),
    )
    # What failed before was a reason of the verdict on trust; rules that need it say so themselves.
    late = [f"not shown, advisor failed at it: {facts.failures[name]}" for name in facts.failures if name not in known]
    notes = (*document.trace.notes, *_not_listed(facts), *(note.partition("\n")[0] for note in late))
    return msgspec.structs.replace(document, trace=msgspec.structs.replace(document.trace, notes=notes))


def _not_listed(facts: Facts) -> Iterator[str]:
    """What there is too much of to name each."""
    steps, devices = len(facts.steps.frame), len(facts.device.all)
    if steps > MOST_STEPS:
        yield f"the first {MOST_STEPS:,} of {steps:,} steps are listed one by one; all figures are made from all of them"
    if devices > MOST_DEVICES:
        yield f"the {MOST_DEVICES:,} of {devices:,} devices with the most launches have a waterfall; no process drives so many"


def _trust(facts: Facts, trust: TrustGrade, shown: Sequence[Judged]) -> doc.Trust:
    """What doubts the findings shown, or what binds the run; the other symptoms behind it, worth knowing."""
    doubting = trust.at_hand(facts, [item.finding.saving for item in shown if item.usual_ratio >= doc.CARD_RATIO])
    return doc.Trust(
        verdict=cast("Any", verdict_of(doubting)),
        reasons=tuple(
            doc.Reason(
                code=item.code,
                message=f"{item.message} Next time: {item.fix}." if item.fix else item.message,
                count=item.count,
                doubts=item in doubting,
            )
            for item in sorted(trust.symptoms, key=lambda one: one not in doubting)
        ),
    )


def _finding(
    facts: Facts, item: Judged, representative: DrawnStep | None, accepted: str | None
) -> doc.FindingDocument | None:
    name = f"finding {item.identity}"
    return facts.attempt(name, lambda: finding_document(facts, item, representative, accepted), None)


def _slowest(facts: Facts) -> doc.Timeline | None:
    slowest = slowest_step(facts)
    return timeline(facts, slowest) if slowest is not None else None


def _totals(facts: Facts) -> tuple[doc.Total, ...]:
    return tuple(doc.Total(**msgspec.structs.asdict(total)) for total in recorded_totals(facts.trace))


def _check(run: RuleRun, *, trains: bool) -> doc.CheckDocument:
    meta = run.rule.meta
    return doc.CheckDocument(
        rule=meta.code,
        name=meta.name,
        title=put(meta.title, "step", trains=trains),
        family=meta.family,
        state=run.state.value,
        reason=run.reason,
    )
