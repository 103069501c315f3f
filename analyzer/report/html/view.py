"""The page as plain data: what each place of the template shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from analyzer.analysis import Analysis
from analyzer.page import hardware, recording
from analyzer.page import headline as wording
from analyzer.page.findings.groups import NOTES, counts, grouped, no_card, notes_are, unit
from analyzer.page.words import safe
from analyzer.page.words.of_steps import Noun
from analyzer.page.words.vocabulary import states_line
from analyzer.ranks.document import Job
from analyzer.report.drawing.roofline import roofline
from analyzer.report.drawing.shapes import NARROW, Drawing
from analyzer.report.html import tables
from analyzer.report.html.change_section import Since, since
from analyzer.report.html.findings import Finding, First, Small, findings, small
from analyzer.report.html.findings import first as begin_with
from analyzer.report.html.job_section import JobSection, job_section
from analyzer.report.html.measured_section import Memory
from analyzer.report.html.measured_section import memory as measured_memory
from analyzer.report.html.measured_section import operators as measured_operators
from analyzer.report.html.module_section import ModuleSection, module_section
from analyzer.report.html.prose import prose
from analyzer.report.html.sheet import Sheet
from analyzer.report.html.step_section import StepSection, step_section
from analyzer.report.html.viewer import Viewer, viewer
from analyzer.report.html.what_if import WhatIf
from analyzer.report.html.what_if import section as what_if
from analyzer.units import count, duration, share

if TYPE_CHECKING:
    from analyzer.report.from_trace import FromTrace


@dataclass(frozen=True)
class Figure:
    """One of the large numbers."""

    value: str
    label: str
    good: bool = False


@dataclass(frozen=True)
class Page:
    """Everything the template shows."""

    version: str
    title: str
    name: str
    origin: str
    noun: Noun
    figures: tuple[Figure, ...]
    verdict: Markup
    outlook: Markup
    first: First | None
    job: JobSection | None
    since: Since | None
    doubts_head: str
    doubts: tuple[Markup, ...]
    record_again: str
    step: StepSection
    what_if: WhatIf | None
    counts: str
    findings: tuple[Finding, ...]
    nothing: str
    small: tuple[Small, ...]
    small_head: str
    small_are: str
    viewer: Viewer | None
    operators_head: str
    operators: Sheet | None
    operators_notes: tuple[Markup, ...]
    roofline: Drawing | None
    narrow_roofline: Drawing | None
    modules: ModuleSection | None
    measured: tuple[Sheet, ...]
    memory: tuple[Memory, ...]
    ranks: Sheet | None
    checks_line: str
    checks: Sheet
    environment: tuple[tuple[str, Markup], ...]
    repairs: tuple[Markup, ...]
    data_note: Markup


def view(analysis: Analysis, data_note: str, found: FromTrace | None = None, *, with_data: bool) -> Page:
    """The page of an analysis; an unusable trace gets no figures, only why and what to record."""
    usable = analysis.trust.verdict != "unusable"
    shown = found if usable else None
    return Page(
        version=safe.name(analysis.tool.version, 24),
        title=wording.title(analysis),
        name=safe.name(analysis.job.name if analysis.job is not None else analysis.trace.name),
        origin=", ".join(_origin(analysis)),
        noun=unit(analysis),
        figures=tuple(_figures(analysis)) if usable else (),
        verdict=prose(wording.verdict(analysis) if usable else "The trace was read, but no advice can rest on it."),
        outlook=prose(" ".join(wording.outlook(analysis)) if usable else ""),
        first=begin_with(analysis) if usable else None,
        job=job_section(analysis),
        since=since(analysis),
        doubts_head="Why there is no advice" if not usable else "Notes on trust",
        doubts=tuple(
            prose(f"{one.code} {one.message}" if one.code else one.message, 600) for one in analysis.trust.reasons[:40]
        ),
        record_again="\n".join(recording.RECORD_AGAIN) if not usable else "",
        step=step_section(analysis),
        what_if=what_if(analysis, with_data=with_data),
        counts=counts(analysis),
        findings=findings(analysis),
        nothing=_nothing(analysis),
        small=small(analysis),
        small_head=NOTES,
        small_are=f"L{notes_are(analysis)[1:]}{grouped(analysis).also_with_trust}.",
        viewer=viewer(analysis, shown.lanes) if shown is not None else None,
        operators_head=_operators_head(analysis, shown),
        operators=tables.operators(analysis),
        operators_notes=tuple(
            prose(note) for note in (hardware.against(analysis), hardware.ceilings_line(analysis)) if note
        ),
        roofline=roofline(analysis),
        narrow_roofline=roofline(analysis, NARROW),
        modules=module_section(analysis),
        measured=tuple(measured_operators(analysis, shown)) if shown is not None else (),
        memory=measured_memory(analysis, shown) if shown is not None else (),
        ranks=tables.ranks(analysis),
        checks_line=_checks_line(analysis),
        checks=tables.checks(analysis),
        environment=tuple((label, prose(text, 600)) for label, text in recording.environment(analysis)),
        repairs=tuple(
            prose(text, 400) for text in (*map(recording.mended, analysis.repairs), *recording.set_aside(analysis))
        ),
        data_note=prose(data_note, 400),
    )


def _origin(analysis: Analysis) -> Iterator[str]:
    if analysis.job is not None:
        yield f"report of {safe.name(analysis.trace.name)}"
    device = recording.device(analysis)
    yield safe.name(device, 80) if device else "no GPU events"
    if analysis.trace.versions.torch:
        yield f"torch {safe.name(analysis.trace.versions.torch, 40)}"
    yield recording.events(analysis)


def _job_figures(job: Job) -> Iterator[Figure]:
    yield Figure(duration(job.step_ns), "a step of the job now")
    first = next((one for one in job.what_if if one.scope != "all ranks"), None)
    if first is not None and first.saved_ns_per_step >= 0.05 * job.step_ns:
        yield Figure(
            duration(first.step_ns),
            f"with {safe.clean(first.ideal)}" + (", at best" if first.at_most else ""),
            good=True,
        )
    yield Figure(f"{job.present:,}", f"ranks of {job.world_size:,}" if job.world_size else "ranks")


def _figures(analysis: Analysis) -> Iterator[Figure]:
    if analysis.job is not None:
        yield from _job_figures(analysis.job)
        return
    summary = analysis.summary
    yield Figure(duration(summary.step_ns.mean), f"{wording.each(analysis, whole='the whole trace')} now")
    if wording.promises(analysis):
        at_best = "reachable at best" if summary.reachable_kind == "bound" else "reachable at best, as estimated"
        yield Figure(duration(summary.reachable_step_ns), at_best, good=True)
        if duration(summary.likely_step_ns) != duration(summary.reachable_step_ns):
            yield Figure(duration(summary.likely_step_ns), "likely", good=True)
    if summary.gpu_busy_ratio is not None:
        yield Figure(share(summary.gpu_busy_ratio), "GPU busy")
    if unit(analysis) != "recording":
        yield Figure(f"{summary.used_steps:,}", f"{unit(analysis)}{'s' if summary.used_steps != 1 else ''}")


def _operators_head(analysis: Analysis, shown: FromTrace | None) -> str:
    named = hardware.shown(analysis) is not None or shown is None or bool(shown.operators)
    return "Operators" if named else "Kernels"


def _nothing(analysis: Analysis) -> str:
    if analysis.trust.verdict == "unusable":
        return "None: no advice can rest on this trace."
    return f"{no_card(analysis)}."


def _checks_line(analysis: Analysis) -> str:
    if not analysis.checks:
        return "No checks were run."
    return f"{states_line(analysis.checks)}, of {count(len(analysis.checks), 'check')}."
