"""The job before its ranks as text: its verdict, a bar per rank with waits hatched, who is late and why, ranks x steps."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.page.job import UNKNOWN, JobPage, RankBar, job_page
from analyzer.page.words import safe
from analyzer.report.style import Style

_BAR = 40
_WORK, _WAIT, _MOVE = "#", "/", "="
# A rank that waits for so much of a step is drawn dark.
_SHADES = " .:-=+*#%@"


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """The block; nothing where the trace stands alone."""
    page = job_page(analysis.job)
    if page is None:
        return
    yield style.paint(page.title, "title")
    yield ""
    yield from (style.paint(line, "strong") for line in safe.wrap(page.verdict, style.width))
    yield ""
    yield from map(_bar, page.bars)
    if page.more_bars:
        yield f"  {page.more_bars}"
    if page.bars:
        yield "  " + "  ".join(f"{mark} {words}" for mark, words in zip((_WORK, _MOVE, _WAIT), page.key, strict=False))
    yield from _late(page)
    yield from _ideal(page)
    yield from _heat(page)
    yield from (f"  {line}" for note in page.notes for line in safe.wrap(note, style.width - 2))


def _bar(bar: RankBar) -> str:
    cells = [round(_BAR * ratio) for ratio in (bar.work_ratio, bar.move_ratio, bar.wait_ratio)]
    drawn = _WORK * cells[0] + _MOVE * cells[1] + _WAIT * cells[2]
    about = "" if bar.about == UNKNOWN else bar.about
    times = f"{bar.step:>8}, waits unknown" if bar.waits == UNKNOWN else f"waits {bar.waits:>8} of {bar.step:>8}"
    return f"  rank {bar.rank:<5} {drawn:<{_BAR}} {times}  {about}".rstrip()


def _late(page: JobPage) -> Iterator[str]:
    if not page.late:
        return
    yield ""
    heads, rows = page.blame()
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for cells in (heads, *rows):
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        yield f"  {'  '.join(padded)}".rstrip()


def _ideal(page: JobPage) -> Iterator[str]:
    if page.ideal:
        yield ""
    yield from (f"  {ideal}" for ideal in page.ideals())


def _heat(page: JobPage) -> Iterator[str]:
    """The darker, the more of the step the rank waits for others."""
    if not page.heat:
        return
    yield ""
    yield f"  waiting by step, {page.steps[0]} to {page.steps[-1]} (the darker, the more of a step)"
    for row in page.heat:
        shades = "".join(_SHADES[min(int(len(_SHADES) * ratio), len(_SHADES) - 1)] for ratio in row.ratios)
        yield f"  rank {row.rank:<5} |{shades}|"
