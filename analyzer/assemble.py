"""Facts, trust and rule runs to the one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import msgspec
import pandas as pd

from analyzer import analysis as doc
from analyzer.cause_names import CAUSES
from analyzer.engine import Judged, RuleRun, reachable_ns
from analyzer.facts import Facts
from analyzer.facts.causes import Waterfall
from analyzer.facts.recorded_totals import recorded_totals
from analyzer.facts.timeline import DrawnStep, lanes, representative_step, slowest_step
from analyzer.finding import Bars, Evidence, Series, Severity, State, Table
from analyzer.trace_info import trace_info
from analyzer.trust import TrustGrade
from analyzer.units import share
from analyzer.verdict import verdict_of

DISTRIBUTION = "trace-advisor"
# Intervals shown beside a finding: enough to draw a bracket, not a copy of the trace.
_MAX_INTERVALS = 200


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
        summary=_summary(facts, trust, shown, representative),
        findings=tuple(_finding(facts, item, representative, reasons.get(item.identity)) for item in shown),
        checks=tuple(_check(run) for run in runs),
        steps=_steps(facts),
        timeline=_timeline(facts, representative),
        slowest=_timeline(facts, slowest) if slowest is not None else None,
        totals=tuple(doc.Total(**msgspec.structs.asdict(total)) for total in recorded_totals(facts.trace)),
    )


def _summary(
    facts: Facts, trust: TrustGrade, judged: Sequence[Judged], representative: DrawnStep | None
) -> doc.Summary:
    totals = {cause: facts.waterfall.owned(cause).total_ns for cause in CAUSES}
    durations = facts.steps.used["dur_ns"]
    unprofiled = facts.trace.meta.advisor.get("unprofiled_step_ns")
    severities = [item.severity for item in judged]
    return doc.Summary(
        verdict=verdict_of(facts, totals, unusable=trust.verdict == "unusable"),
        step_ns=_step_times(durations),
        unprofiled_step_ns=unprofiled if isinstance(unprofiled, int) else None,
        reachable_step_ns=reachable_ns(facts, judged),
        window_ns=facts.window_ns,
        used_steps=facts.used_steps,
        gpu_busy_ratio=facts.ratio((facts.window() & facts.device.busy).total_ns) if facts.device else None,
        compute_ratio=facts.ratio(totals["compute"]),
        launch_lead_ns_median=facts.lead_ns,
        representative_step=representative.number if representative is not None else None,
        waterfall=_causes(totals, facts.window_ns),
        devices=tuple(_device(facts, index) for index in range(len(facts.devices))),
        counts=doc.Counts(**{severity.value: severities.count(severity) for severity in Severity}),
    )


def _step_times(durations: pd.Series[int]) -> doc.StepTimes:
    if not len(durations):
        return doc.StepTimes(mean=0, median=0, p95=0, min=0, max=0)
    return doc.StepTimes(
        mean=int(durations.sum()) // len(durations),
        median=int(durations.median()),
        p95=int(durations.quantile(0.95)),
        min=int(durations.min()),
        max=int(durations.max()),
    )


def _causes(totals: Mapping[str, int], whole_ns: int) -> tuple[doc.CauseTime, ...]:
    return tuple(
        doc.CauseTime(
            cause=cast("Any", cause), ns=int(totals[cause]), ratio=totals[cause] / whole_ns if whole_ns else 0.0
        )
        for cause in CAUSES
    )


def _device(facts: Facts, index: int) -> doc.DeviceWaterfall:
    activity = facts.devices[index]
    divided: Waterfall = facts.waterfall if index == 0 else facts.waterfall_of(activity, facts.window())
    totals = {cause: divided.owned(cause).total_ns for cause in CAUSES}
    return doc.DeviceWaterfall(
        device=str(activity.device),
        busy_ratio=facts.ratio((facts.window() & activity.busy).total_ns),
        waterfall=_causes(totals, facts.window_ns),
    )


def _steps(facts: Facts) -> tuple[doc.StepRow, ...]:
    frame = facts.steps.frame
    window = facts.waterfall_of(facts.device, facts.whole) if not frame["used"].all() else facts.waterfall
    causes = window.per_step(frame)
    numbers, starts, durations, used, reasons = (
        frame[name].to_numpy().tolist() for name in ("number", "start_ns", "dur_ns", "used", "reason")
    )
    return tuple(
        doc.StepRow(
            step=number,
            start_ns=start,
            dur_ns=duration,
            used=is_used,
            reason=reason if isinstance(reason, str) else None,
            causes=_causes(dict(zip(CAUSES, owned, strict=True)), duration),
        )
        for number, start, duration, is_used, reason, owned in zip(
            numbers, starts, durations, used, reasons, causes.to_numpy().tolist(), strict=True
        )
    )


def _timeline(facts: Facts, representative: DrawnStep | None) -> doc.Timeline:
    if representative is None:
        return doc.Timeline(step=None, dur_ns=0, lanes=())
    start, end = representative.start_ns, representative.end_ns
    return doc.Timeline(
        step=representative.number,
        dur_ns=end - start,
        lanes=tuple(
            doc.Lane(
                name=lane.name,
                kind=cast("Any", lane.kind),
                spans=tuple(
                    doc.Span(
                        start_ns=span.start_ns,
                        dur_ns=span.end_ns - span.start_ns,
                        label=span.label,
                        cause=cast("Any", span.cause),
                    )
                    for span in lane.spans
                ),
            )
            for lane in lanes(facts, start, end)
        ),
    )


def _finding(facts: Facts, item: Judged, representative: DrawnStep | None, accepted: str | None) -> doc.FindingDocument:
    finding, meta = item.finding, item.rule.meta
    place = finding.location
    unprofiled = _unprofiled(facts, item.ratio)
    return doc.FindingDocument(
        id=item.identity,
        rule=meta.code,
        name=meta.name,
        family=meta.family,
        title=finding.title or meta.title,
        severity=cast("Any", item.severity.value),
        confidence=cast("Any", item.confidence.value),
        saving=doc.SavingDocument(
            ns_per_step_max=item.ns_per_step,
            ratio_max=item.ratio,
            unprofiled_ratio_max=unprofiled,
            basis=_basis(facts, item, unprofiled),
            overlaps_with=item.overlaps_with,
        ),
        steps=doc.SeenSteps(seen=finding.steps_seen, of=facts.used_steps),
        rank=item.rank,
        explained_by=item.explained_by,
        location=doc.LocationDocument(file=place.file, line=place.line, function=place.function) if place else None,
        why=finding.why,
        caveats=finding.caveats,
        evidence=tuple(_evidence(piece) for piece in finding.evidence) + _where(item, representative),
        fix=tuple(doc.FixDocument(language=fix.language, code=fix.code, note=fix.note) for fix in finding.fix),
        verify=finding.verify,
        references=meta.references,
        accepted=accepted,
    )


def _unprofiled(facts: Facts, ratio: float) -> float | None:
    """A saving as a share of the step without the profiler, at most: as if the profiler slowed only the rest of the step."""
    added = facts.collected.profiler_ns
    if added is None:
        return None
    step = facts.per_step(facts.window_ns)
    return min(1.0, ratio * step / (step - added)) if added < step else 1.0


def _basis(facts: Facts, item: Judged, unprofiled: float | None) -> str:
    """The basis, with what it takes for granted, and the share that a stopwatch may show where that is another one."""
    basis = item.finding.saving.basis.rstrip(".")
    if not item.ns_per_step:
        return basis
    if unprofiled is not None and share(unprofiled) != share(item.ratio):
        basis += f"; without the profiler, which slows the rest of the step, up to {share(unprofiled)} of it"
    if facts.device is None:
        # Measured on planted bottlenecks: traces/README.md shows what their remedies saved beyond the bound.
        basis += "; the rest, which may get faster with caches and cores to itself, is taken as recorded"
    return basis


def _evidence(piece: Evidence) -> doc.EvidenceDocument:
    if isinstance(piece, Bars):
        return doc.BarsEvidence(
            title=piece.title,
            unit=piece.unit,
            bars=tuple(doc.BarItem(label=bar.label, value=float(bar.value)) for bar in piece.bars),
        )
    if isinstance(piece, Series):
        return doc.SeriesEvidence(
            title=piece.title, unit=piece.unit, values=tuple(float(value) for value in piece.values)
        )
    assert isinstance(piece, Table)
    return doc.TableEvidence(
        title=piece.title,
        columns=tuple(doc.TableColumn(title=column.title, unit=column.unit) for column in piece.columns),
        rows=piece.rows,
    )


def _where(item: Judged, representative: DrawnStep | None) -> tuple[doc.IntervalsEvidence, ...]:
    """Where in the drawn step the claimed time lies."""
    if representative is None:
        return ()
    start, end = representative.start_ns, representative.end_ns
    spans = item.finding.saving.claims.clip(start, end)
    if not spans:
        return ()
    ranked = sorted(spans.pairs(), key=lambda pair: pair[0] - pair[1])
    longest, others = ranked[:_MAX_INTERVALS], ranked[_MAX_INTERVALS:]
    return (
        doc.IntervalsEvidence(
            title="where in the step",
            step=representative.number,
            spans=tuple((low - start, high - start) for low, high in sorted(longest)),
            left_out=len(others),
            left_out_ns=sum(high - low for low, high in others),
        ),
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
