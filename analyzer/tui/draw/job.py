"""A job's ranks as lines: a bar each with its waits hatched, and how dark each step is with waiting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from analyzer.page.job import JobPage, RankBar
from analyzer.tui.draw.finding import prose
from analyzer.tui.draw.table import table
from analyzer.tui.look.glyphs import Glyphs

_STEPS = 16
# Of a line, beside the bar and the steps: the rank, how long it waits, whether it is late.
_WORDS = 44
_SHORTEST, _LONGEST = 12, 56
# Of the table of late ranks: in how many steps, and why.
_TEXTS = (2, 3)


def rank_lines(page: JobPage, width: int, glyphs: Glyphs) -> list[Content]:
    """A line for each rank of the page, in its order.

    Args:
        page: The job.
        width: Cells of a line; the bars take what the words leave.
        glyphs: How to draw.
    """
    heat = {row.rank: row.ratios for row in page.heat}
    steps = min(max((len(ratios) for ratios in heat.values()), default=0), _STEPS)
    room = min(max(width - _WORDS - steps, _SHORTEST), _LONGEST)
    return [_line(bar, heat.get(bar.rank, ()), room, glyphs) for bar in page.bars]


def about(page: JobPage, width: int, glyphs: Glyphs) -> Content:
    """What stands over the ranks: verdict, who is late, what a step would take without, how to read the bars.

    Args:
        page: The job.
        width: Cells of a line, which the table takes; all else is wrapped.
        glyphs: How to draw.
    """
    lines = [prose(page.verdict, "bold"), Content("")]
    lines += table(*page.blame(), _TEXTS, width) if page.late else []
    lines += map(_plain, page.ideals()[:3])
    lines += [_plain(note) for note in page.notes[:4]]
    lines += [_plain(page.more_bars)] if page.more_bars else []
    key = "  ".join(f"{mark} {words}" for mark, words in zip(_marks(glyphs), page.key, strict=False))
    lines += [Content(""), Content.styled(f"{key}{_steps(page)}", "$quiet")]
    return Content("\n").join(lines)


def _plain(text: str) -> Content:
    return Content(text)


def _steps(page: JobPage) -> str:
    if not page.heat:
        return ""
    last = page.steps[:_STEPS][-1]
    return f"  on the right steps {page.steps[0]} to {last}, the higher the longer it waits"


def _marks(glyphs: Glyphs) -> tuple[str, str, str]:
    return glyphs.bar, glyphs.patterns["communication"], "/"


def _line(bar: RankBar, ratios: Sequence[float], room: int, glyphs: Glyphs) -> Content:
    work, move, wait = _marks(glyphs)
    cells = [round(room * ratio) for ratio in (bar.work_ratio, bar.move_ratio, bar.wait_ratio)]
    pieces = [
        (f" rank {bar.rank:<4} ", "bold" if bar.late else ""),
        (work * cells[0], "$cause-compute"),
        (move * cells[1], "$cause-communication"),
        (wait * cells[2], "$sev-high"),
        (" " * max(room + 1 - sum(cells), 1), ""),
        (f"waits {bar.waits:>7} of {bar.step:>7} ", ""),
        ("".join(_levels(ratios, glyphs)), "$sev-high"),
        ("  late" if bar.late else "", "bold $sev-high"),
    ]
    return Content.assemble(*(piece for piece in pieces if piece[0]))


def _levels(ratios: Sequence[float], glyphs: Glyphs) -> Iterator[str]:
    for ratio in ratios[:_STEPS]:
        yield glyphs.eighths[min(int(ratio * len(glyphs.eighths)), len(glyphs.eighths) - 1)] if ratio >= 0.01 else " "
