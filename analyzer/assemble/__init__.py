"""Facts, trust and rule runs to the one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import msgspec

from analyzer import analysis as doc
from analyzer.assemble.finding import finding_document
from analyzer.assemble.steps import step_rows, timeline
from analyzer.assemble.summary import summary
from analyzer.engine import Judged, RuleRun
from analyzer.facts import Facts
from analyzer.facts.recorded_totals import recorded_totals
from analyzer.facts.timeline import representative_step, slowest_step
from analyzer.finding import State
from analyzer.trace_info import trace_info
from analyzer.trust import TrustGrade

DISTRIBUTION = "trace-advisor"


def tool_version() -> str:
    """Version of the installed distribution; `unknown` when run from a bare checkout."""
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
    representative, slowest = representative_step(facts), slowest_step(facts)
    return doc.Analysis(
        schema_version=doc.SCHEMA_VERSION,
        tool=doc.Tool(name=DISTRIBUTION, version=tool_version()),
        trace=trace_info(facts),
        trust=doc.Trust(
            verdict=cast("Any", trust.verdict),
            reasons=tuple(
                doc.Reason(
                    code=item.code,
                    message=f"{item.message} Next time: {item.fix}." if item.fix else item.message,
                    count=item.count,
                )
                for item in trust.symptoms
            ),
        ),
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
        summary=summary(facts, trust, shown, representative),
        findings=tuple(finding_document(facts, item, representative, reasons.get(item.identity)) for item in shown),
        checks=tuple(_check(run) for run in runs),
        steps=step_rows(facts),
        timeline=timeline(facts, representative),
        slowest=timeline(facts, slowest) if slowest is not None else None,
        totals=tuple(doc.Total(**msgspec.structs.asdict(total)) for total in recorded_totals(facts.trace)),
    )


def _check(run: RuleRun) -> doc.CheckDocument:
    meta = run.rule.meta
    return doc.CheckDocument(
        rule=meta.code,
        name=meta.name,
        title=meta.title,
        family=meta.family,
        state=cast("Any", run.state.value if isinstance(run.state, State) else run.state),
        reason=run.reason,
    )
