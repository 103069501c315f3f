"""The waterfall, the timeline and the steps as one self-contained picture to attach to an issue, light or dark."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import escape

from analyzer.analysis import Analysis
from analyzer.page import headline as wording
from analyzer.page.job import job_page
from analyzer.page.step.waterfall import by_size
from analyzer.page.words import safe
from analyzer.report.drawing import palette
from analyzer.report.drawing.job import heat_map, rank_bars
from analyzer.report.drawing.roofline import roofline
from analyzer.report.drawing.shapes import WIDTH, Drawing, text
from analyzer.report.drawing.timeline import timeline
from analyzer.report.drawing.waterfall import steps, waterfall
from analyzer.units import duration, share

_MARGIN = 24
_LEGEND_WIDTH = 240
_MOST_LINES = 3


def render(analysis: Analysis) -> str:
    """The picture, ending in a newline."""
    body = [text(0, 18, wording.title(analysis), "strong title")]
    top = 34
    for heading, drawing in _of_job(analysis):
        top = _placed(body, top, heading, drawing)
    if analysis.trust.verdict == "unusable":
        for reason in analysis.trust.reasons[:4]:
            body.append(text(0, top + 12, safe.name(reason.message, 130)))
            top += 20
    else:
        for one in _lines(wording.verdict(analysis)):
            body.append(text(0, top + 6, one, "quiet"))
            top += 20
        top += 4
        for heading, drawing in _parts(analysis):
            top = _placed(body, top, heading, drawing)
            if heading.startswith("Where"):
                legend, height = _legend(analysis)
                body.append(f'<g transform="translate(0 {top - 8})">{legend}</g>')
                top += height + 8
    return _document("".join(body), top, wording.title(analysis))


def _lines(sentence: str) -> list[str]:
    """A sentence as wide as the picture; a picture has no letters of its own for code."""
    return safe.wrap(_without_marks(sentence), 130)[:_MOST_LINES]


def _without_marks(sentence: str) -> str:
    return sentence.replace("`", "")


def _placed(body: list[str], top: float, heading: str, drawing: Drawing) -> int:
    """Adds a drawing under its heading; where the next one begins."""
    body.append(text(0, top + 12, heading, "strong"))
    body.append(drawing.group(int(top) + 22))
    return int(top) + 22 + drawing.height + 18


def _of_job(analysis: Analysis) -> Iterator[tuple[str, Drawing]]:
    page = job_page(analysis.job)
    if page is None:
        return
    bars, heat = rank_bars(page), heat_map(page)
    if bars is not None:
        yield f"{page.title}. {safe.name(_without_marks(page.verdict), 110)}", bars
    if heat is not None:
        yield "Waiting by rank and step, the darker the longer", heat


def _parts(analysis: Analysis) -> Iterator[tuple[str, Drawing]]:
    noun = analysis.trace.steps.noun
    yield wording.where(analysis), waterfall(analysis)
    lanes = timeline(analysis)
    if lanes is not None:
        step = (
            "The trace"
            if analysis.timeline.step is None
            else f"{noun.capitalize()} {analysis.timeline.step}, nearest to the median"
        )
        yield f"{step}: {duration(analysis.timeline.dur_ns)}", lanes
    rows = steps(analysis)
    if rows is not None:
        shown = analysis.timeline.step
        yield f"All {noun}s" if shown is None or lanes is None else f"All {noun}s, {noun} {shown} marked", rows
    dots = roofline(analysis)
    if dots is not None:
        yield "Roofline: a dot for each operator with products, as large as its time", dots


def _legend(analysis: Analysis) -> tuple[str, int]:
    pieces: list[str] = []
    parts = by_size(analysis)
    for place, part in enumerate(parts):
        x, y = place % 4 * _LEGEND_WIDTH, place // 4 * 20
        name = part.cause.replace("_", "-")
        pieces.append(f'<rect class="c-{name}" x="{x}" y="{y}" width="12" height="12" rx="2"/>')
        pieces.append(text(x + 18, y + 10, f"{part.label} {part.time}, {share(part.ratio)}"))
    return "".join(pieces), (len(parts) + 3) // 4 * 20


def _document(body: str, height: int, title: str) -> str:
    width, whole = WIDTH + 2 * _MARGIN, height + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {whole}" width="{width}" height="{whole}" role="img" '
        f'aria-labelledby="title">\n<title id="title">{escape(safe.clean(title))}</title>\n'
        f"<style>\n{palette.css()}svg .title{{font-size:17px}}\n</style>\n"
        '<rect width="100%" height="100%" fill="var(--back)"/>\n'
        f'<g transform="translate({_MARGIN} {_MARGIN})">\n{body}\n</g>\n</svg>\n'
    )
