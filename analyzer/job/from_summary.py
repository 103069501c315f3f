"""The document of a rank of which only the summary is here: its figures and verdict, and why there is nothing more."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer import analysis as doc
from analyzer.assemble import DISTRIBUTION, tool_version
from analyzer.assemble.causes import cause_times
from analyzer.cause_names import CAUSES
from analyzer.ranks.summary import RankSummary, StepPart

_NOTE = "made from the rank's summary: explain its trace for findings and the timeline"


def analysis_of(summary: RankSummary) -> doc.Analysis:
    """As much of a document as a summary holds."""
    totals = {cause: sum(step.causes.get(cause, 0) for step in summary.steps) for cause in CAUSES}
    return doc.Analysis(
        schema_version=doc.SCHEMA_VERSION,
        tool=doc.Tool(name=DISTRIBUTION, version=tool_version()),
        trace=_trace(summary),
        trust=doc.Trust(
            verdict=summary.trust,
            reasons=tuple(doc.Reason(code=None, message=text, count=1) for text in summary.doubts),
        ),
        repairs=(),
        summary=_figures(summary, totals),
        findings=(),
        checks=(),
        steps=tuple(_step(step) for step in summary.steps),
        timeline=doc.Timeline(step=None, dur_ns=0, lanes=()),
    )


def _trace(summary: RankSummary) -> doc.TraceInfo:
    found = ", ".join(f"{one.rule} {one.title}" for one in summary.findings[:5])
    return doc.TraceInfo(
        name=summary.file,
        sha256=summary.sha256,
        bytes=0,
        events=0,
        ranks=() if summary.rank is None else (summary.rank,),
        device=doc.DeviceInfo(kind=summary.device_kind, name=summary.device, count=summary.devices),
        versions=doc.Versions(torch=None, cuda=None, rocm=None, python=None),
        profiler=doc.ProfilerOptions(stacks=False, shapes=False, memory=False, flops=False),
        steps=doc.Steps(source="ProfilerStep", count=len(summary.steps), used=len(summary.steps), excluded=()),
        notes=(_NOTE, *((f"its own findings: {found}",) if found else ())),
    )


def _figures(summary: RankSummary, totals: dict[str, int]) -> doc.Summary:
    durations = np.array([step.dur_ns for step in summary.steps] or [0], dtype=np.int64)
    window = summary.window_ns
    mean = int(durations.sum()) // len(durations)
    return doc.Summary(
        verdict=doc.Verdict(bound_by=bound_of(summary.bound_by), ratio=0.0, text=summary.verdict),
        step_ns=doc.StepTimes(
            mean=mean,
            median=int(np.median(durations)),
            p95=int(np.quantile(durations, 0.95)),
            min=int(durations.min()),
            max=int(durations.max()),
        ),
        unprofiled_step_ns=None,
        reachable_step_ns=mean,
        window_ns=window,
        used_steps=len(summary.steps),
        gpu_busy_ratio=None,
        compute_ratio=totals["compute"] / window if window else 0.0,
        launch_lead_ns_median=None,
        representative_step=None,
        waterfall=cause_times(totals, window),
        devices=(),
        counts=doc.Counts(high=0, medium=0, low=0, info=0),
    )


def bound_of(said: str | None) -> doc.BoundBy:
    """What a summary says its rank is bound by; unknown where this version knows no such word."""
    try:
        bound: doc.BoundBy = msgspec.convert(said, doc.BoundBy)
    except msgspec.ValidationError:
        return "unknown"
    return bound


def _step(step: StepPart) -> doc.StepRow:
    causes = {cause: step.causes.get(cause, 0) for cause in CAUSES}
    return doc.StepRow(
        step=step.number,
        start_ns=step.start_ns,
        dur_ns=step.dur_ns,
        used=True,
        reason=None,
        causes=cause_times(causes, step.dur_ns),
    )
