"""The strip over the findings: where the steps' time goes, the representative step's lanes, and every step's length."""

from __future__ import annotations

from textual.content import Content

from analyzer import units
from analyzer.analysis import Analysis, FindingDocument, StepRow
from analyzer.page.findings.groups import unit
from analyzer.page.recording import is_summary
from analyzer.page.step import waterfall as page
from analyzer.page.step.lanes import MOST_PIECES, claimed
from analyzer.tui.draw import bars, lanes
from analyzer.tui.look.glyphs import Glyphs

GUTTER = 6
TALL = 7


def strip(analysis: Analysis, finding: FindingDocument | None, width: int, height: int, glyphs: Glyphs) -> Content:
    """As much of the strip as `height` lines hold: lanes and bracket first."""
    step = [lanes.axis(analysis.timeline.dur_ns, max(1, width - GUTTER)), *_lanes(analysis, width, glyphs)]
    rows = [_gutter("", step[0]), *step[1:], _bracket(analysis, finding, width, glyphs)]
    if height >= TALL:
        # Everything taken as one has no others beside it.
        several = [steps_row(analysis, width, glyphs)] if unit(analysis) != "recording" else []
        rows = [*waterfall(analysis, width, glyphs), *rows, *several]
    return Content("\n").join(row.truncate(width) for row in rows[:height])


def _gutter(name: str, content: Content) -> Content:
    return Content.styled(name.ljust(GUTTER), "$quiet") + content


def _lanes(analysis: Analysis, width: int, glyphs: Glyphs) -> list[Content]:
    timeline, room = analysis.timeline, max(1, width - GUTTER)
    hosts = [lane for lane in timeline.lanes if lane.kind == "host"]
    devices = [lane for lane in timeline.lanes if lane.kind == "device"]
    rows = [_gutter("CPU", lanes.lane(hosts, timeline.dur_ns, room, glyphs))]
    if devices:
        rows.append(_gutter("GPU", lanes.lane(devices, timeline.dur_ns, room, glyphs)))
    else:
        why = "only its summary is here" if is_summary(analysis) else "no GPU events in this trace"
        rows.append(_gutter("GPU", Content.styled(why, "$quiet")))
    return rows


def _bracket(analysis: Analysis, finding: FindingDocument | None, width: int, glyphs: Glyphs) -> Content:
    spans = list(claimed(finding, analysis.timeline)) if finding else []
    if finding and spans:
        room = max(1, width - GUTTER)
        style = f"bold $sev-{finding.severity}"
        if len(spans) > MOST_PIECES:
            strip_of = lanes.density(spans, analysis.timeline.dur_ns, room, glyphs, style)
            return Content.styled(finding.rule.ljust(GUTTER), style) + strip_of
        return _gutter("", lanes.bracket(spans, analysis.timeline.dur_ns, room, finding.rule, glyphs, style))
    return Content("")


def waterfall(analysis: Analysis, width: int, glyphs: Glyphs) -> tuple[Content, Content]:
    """The stacked bar of the mean used step, and a legend for the parts too narrow for a label."""
    parts = [bars.Part(part.cause, part.ns, (f"{part.label} {part.time}", part.label)) for part in page.parts(analysis)]
    inside = bars.shown_inside(parts, width)
    wide = {part.cause for part, shown in zip(parts, inside, strict=True) if shown}
    legend, room = [], width
    for part in page.by_size(analysis):
        figures = f" {part.time} ({units.share(part.ratio)})  "
        entry = Content.assemble(bars.swatch(part.cause, glyphs), " ", part.label, (figures, "$quiet"))
        if part.cause in wide or entry.cell_length - 2 > room:
            continue
        room -= entry.cell_length
        legend.append(entry)
    return bars.stacked(parts, width, glyphs), Content("").join(legend)


def steps_row(analysis: Analysis, width: int, glyphs: Glyphs) -> Content:
    """A column per step, slow ones coloured and named; the most recent ones where they do not all fit."""
    slow = {row.step for row in page.slow_steps(analysis)}
    shown = analysis.summary.representative_step
    rows = analysis.steps[-max(1, width // 3) :]
    per_step = 2 if len(rows) * 2 <= width // 3 else 1
    cells = [row for row in rows for _ in range(per_step)]
    styles = [_step_style(row, slow, shown) for row in cells]
    times = analysis.summary.step_ns
    dot = f" {glyphs.dot} "
    text = f"   median {units.duration(times.median)}{dot}p95 {units.duration(times.p95)}"
    named = ", ".join(str(step) for step in sorted(slow)[:6]) + (glyphs.ellipsis if len(slow) > 6 else "")
    return Content.assemble(
        _gutter(
            "steps" if unit(analysis) == "step" else "each", bars.columns([row.dur_ns for row in cells], styles, glyphs)
        ),
        (text, "$quiet"),
        (f"{dot}{len(slow)} slow: {named}" if slow else "", "bold $sev-high"),
        (f"{dot}showing {shown}" if shown is not None else "", "$quiet"),
    )


def _step_style(row: StepRow, slow: set[int], shown: int | None) -> str:
    if row.step in slow:
        return "$sev-high"
    if row.step == shown:
        return "$good"
    return "$cause-framework" if row.used else "$quiet"
