"""A job of ranks: a bar per rank with its waits hatched, and ranks x steps, the darker the longer a rank waits."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.page.job import JobPage, RankBar
from analyzer.report.drawing.shapes import NARROW, WIDTH, Drawing, rect, text, width_of
from analyzer.units import share

_LABEL = 84
_VALUE = 190
_ROW = 22
_BAR = 16
_HATCH = 6
_NARROW_ROW, _KEY_ROW = 40, 18
# Where stripes are is told by paths: a pattern would need an id, which two drawings on a page would share.
_KINDS = ("work", "move", "wait")


def rank_bars(page: JobPage) -> Drawing | None:
    """A bar per rank; None where there is none."""
    if not page.bars:
        return None
    pieces: list[str] = []
    for number, bar in enumerate(page.bars):
        pieces += _bar(bar, page.key, number * _ROW)
    top = len(page.bars) * _ROW + 8
    x = float(_LABEL)
    for kind, words in zip(_KINDS, page.key, strict=False):
        pieces += _box(kind, x, top, 24, 12, "")
        pieces.append(text(x + 30, top + 10, words, "quiet"))
        x += 30 + width_of(words) + 24
    told = "; ".join(f"rank {bar.rank} {bar.step}, waits {bar.waits}" for bar in page.bars)
    return Drawing(top + 18, "".join(pieces), f"A bar per rank: {told}.")


def narrow_rank_bars(page: JobPage) -> Drawing | None:
    """The same for a screen as wide as a hand: words above each bar, and nothing beside it; None where there is none."""
    if not page.bars:
        return None
    pieces: list[str] = []
    for number, bar in enumerate(page.bars):
        y = number * _NARROW_ROW
        late = ", late" if bar.late else ""
        words = f"rank {bar.rank}{late}: waits {bar.waits} of {bar.step}"
        pieces.append(text(0, y + 11, words, "strong" if bar.late else ""))
        pieces += _pieces(bar, page.key, 0.0, y + 16, NARROW)
    top = len(page.bars) * _NARROW_ROW + 6
    for place, (kind, words) in enumerate(zip(_KINDS, page.key, strict=False)):
        pieces += _box(kind, 0.0, top + place * _KEY_ROW, 24, 12, "")
        pieces.append(text(30, top + place * _KEY_ROW + 10, words, "quiet"))
    told = "; ".join(f"rank {bar.rank} {bar.step}, waits {bar.waits}" for bar in page.bars)
    return Drawing(top + len(page.key) * _KEY_ROW, "".join(pieces), f"A bar per rank: {told}.", NARROW)


def _pieces(bar: RankBar, key: Sequence[str], x: float, y: float, room: float) -> list[str]:
    """Work, transfers and waits of a rank behind each other; the longest step takes all the room."""
    pieces: list[str] = []
    for kind, ratio, words in zip(_KINDS, (bar.work_ratio, bar.move_ratio, bar.wait_ratio), key, strict=False):
        if ratio > 0:
            pieces += _box(
                kind, x, y, ratio * room, _BAR, f"rank {bar.rank} {words}: {share(ratio)} of the longest step"
            )
            x += ratio * room
    return pieces


def _bar(bar: RankBar, key: Sequence[str], y: float) -> list[str]:
    pieces = [text(_LABEL - 8, y + 12, f"rank {bar.rank}", "end strong" if bar.late else "end")]
    pieces += _pieces(bar, key, float(_LABEL), y, WIDTH - _LABEL - _VALUE)
    late = ", late" if bar.late else ""
    pieces.append(text(WIDTH - _VALUE + 10, y + 12, f"waits {bar.waits} of {bar.step}{late}", "quiet"))
    return pieces


def _box(kind: str, x: float, y: float, width: float, height: float, title: str) -> list[str]:
    """A box; that of waiting is hatched, so that it is told without its colour."""
    made = [rect(x, y, max(width - 1, 0.5), height, f"j-{kind}", title, 1)]
    if kind == "wait":
        at = x + _HATCH
        stripes = []
        while at < x + width - 1:
            reach = min(height, x + width - 1 - at)
            stripes.append(f"M{at:.1f} {y + height:.1f}L{at + reach:.1f} {y + height - reach:.1f}")
            at += _HATCH
        if stripes:
            made.append(f'<path class="j-hatch" d="{"".join(stripes)}"/>')
    return made


def heat_map(page: JobPage) -> Drawing | None:
    """Ranks x steps; None where nobody waits."""
    if not page.heat:
        return None
    each = min((WIDTH - _LABEL) / len(page.steps), 40.0)
    pieces: list[str] = []
    for number, row in enumerate(page.heat):
        y = number * _ROW
        pieces.append(text(_LABEL - 8, y + 12, f"rank {row.rank}", "end"))
        for place, (step, ratio) in enumerate(zip(page.steps, row.ratios, strict=True)):
            title = f"rank {row.rank}, step {step}: waits for {share(ratio)} of a step"
            x = _LABEL + place * each
            pieces.append(rect(x, y, each - 1, _BAR, "j-none", title, 1))
            if ratio >= 0.01:
                shade = f'fill-opacity="{min(ratio, 1):.2f}"'
                pieces.append(rect(x, y, each - 1, _BAR, "j-heat", title, 1).replace("<rect ", f"<rect {shade} ", 1))
    bottom = len(page.heat) * _ROW
    pieces.append(text(_LABEL, bottom + 12, f"step {page.steps[0]}", "quiet"))
    if len(page.steps) > 1:
        pieces.append(text(_LABEL + len(page.steps) * each, bottom + 12, f"step {page.steps[-1]}", "quiet end"))
    most = max(page.heat, key=lambda row: sum(row.ratios))
    told = f"Waiting by rank and step: rank {most.rank} waits most, {share(sum(most.ratios) / len(most.ratios))} of a step."
    return Drawing(bottom + 20, "".join(pieces), told)
