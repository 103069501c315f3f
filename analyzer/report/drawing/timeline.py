"""One step as lanes: what the host does and what the device does, and which part a finding explains."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from analyzer.analysis import Analysis, FindingDocument, Timeline
from analyzer.page.findings import savings
from analyzer.page.findings.groups import unit
from analyzer.page.step import lanes as geometry
from analyzer.page.step.lanes import MOST_PIECES, Box, along, claimed, is_partly
from analyzer.page.words import safe
from analyzer.page.words.of_steps import Noun
from analyzer.report.drawing.shapes import WIDTH, Drawing, cause_class, line, number, rect, text, width_of
from analyzer.units import count, duration

_LEFT = 76
_LANE = 30
_BOX = 23
_TOP = 22
# From one mark of the axis to the next at least: a label, and air.
_MARK = 70
_BRACKET = 30
_MOST_RECTS = 1_600
# Wider boxes than this many pixels have a frame where a device works in part.
_FRAMED = 6
_NOTE = 20
_MOST_BRACKETS = 4
# A strip of many pieces: pixels to a cell, and how many strengths it is drawn in.
_CELL = 4
_LEVELS = 5


def timeline(analysis: Analysis, shown: Timeline | None = None, across: int = WIDTH) -> Drawing | None:
    """The lanes of a step, the representative one unless another is given; None where there are none."""
    shown = shown or analysis.timeline
    if not shown.lanes or shown.dur_ns <= 0:
        return None
    lanes = _boxes(shown, across - _LEFT)
    bottom = _TOP + len(lanes) * _LANE
    body = list(_axis(shown.dur_ns, bottom, across))
    for row, (lane, boxes) in enumerate(zip(shown.lanes, lanes, strict=True)):
        y = _TOP + row * _LANE + (_LANE - _BOX) / 2
        body.append(text(0, y + _BOX / 2 + 4, safe.name(lane.name, 10), ""))
        body += [piece for box in boxes for piece in _drawn(box, y, partly=is_partly(box, lane))]
    rows = list(_brackets(analysis, shown, bottom, body, across))
    height = bottom + max(rows, default=0) * _BRACKET + 6
    if any(is_partly(box, lane) for lane, boxes in zip(shown.lanes, lanes, strict=True) for box in boxes):
        height += _NOTE
        note = "What a device does is drawn as high as the device is busy meanwhile."
        body.append(
            text(0, height - 6, note if width_of(note) <= across else "As high as the device is busy.", "quiet")
        )
    return Drawing(height, "".join(body), _sentence(shown, unit(analysis)), across)


def _boxes(shown: Timeline, room: int) -> list[list[Box]]:
    """Spans in pixels; merged the more coarsely the more there are."""
    drawn: list[list[Box]] = []
    for least in (1.0, 2.0, 4.0, 8.0):
        drawn = [geometry.boxes(lane, shown.dur_ns, room, least) for lane in shown.lanes]
        if sum(map(len, drawn)) <= _MOST_RECTS:
            break
    return drawn


def _drawn(box: Box, y: float, *, partly: bool) -> Iterator[str]:
    """A box with its name, filled only as high as it is busy where that is asked for."""
    width = box.end - box.start
    name = safe.name(box.label or box.cause.replace("_", " "), 60)
    told = f"{name}: {duration(box.ns)}{f' of {duration(box.held_ns)}' if partly else ''}"
    high = max(_BOX * box.ns / box.held_ns, 1.0) if partly else _BOX
    x, across = _LEFT + box.start, max(width - 0.5, 0.5)
    if partly and width > _FRAMED:
        yield rect(x, y, across, _BOX, "part", told)
    yield rect(x, y + _BOX - high, across, high, cause_class(box.cause), told, radius=2 if high > _BOX / 2 else 0)
    label = safe.middle(name, 24)
    if width_of(label) + 8 < width:
        yield text(x + width / 2, y + _BOX / 2 + 4, label, "over" if partly else "inside")


def _axis(whole_ns: int, bottom: int, across: int) -> Iterator[str]:
    """At most eight marks at round times, fewer where there is less room."""
    rough = whole_ns / min(8, max((across - _LEFT) // _MARK, 2))
    unit = 10 ** math.floor(math.log10(max(rough, 1)))
    step = next((unit * times for times in (1, 2, 5) if unit * times >= rough), unit * 10)
    for mark in range(math.floor(whole_ns / step) + 1):
        x = _LEFT + mark * step / whole_ns * (across - _LEFT)
        yield line(x, _TOP - 4, x, bottom, "grid")
        label = duration(mark * step) if mark else "0"
        end = x + width_of(label) / 2 > across
        yield text(min(x, across), 12, label, "quiet end" if end else "quiet middle")


def _brackets(analysis: Analysis, shown: Timeline, bottom: int, body: list[str], across: int) -> Iterator[int]:
    """A bracket per finding under the time it claims, its name under the longest piece; yields the rows used."""
    taken: list[float] = []
    for finding in analysis.cards[:_MOST_BRACKETS]:
        pieces = sorted(_pieces(finding, shown, across - _LEFT), key=lambda piece: piece[0] - piece[1])
        if not pieces:
            continue
        stated = finding.saving
        words = f"{safe.name(finding.rule, 10)}: {savings.word(stated.kind)} {duration(stated.stated_ns)} {savings.each(finding)}"
        if width_of(words) > across:
            words = f"{safe.name(finding.rule, 10)}: {savings.word(stated.kind)} {duration(stated.stated_ns)}"
        half = width_of(words) / 2
        low, high = pieces[0]
        many = len(pieces) > MOST_PIECES
        # A strip goes across: its name has one place, at the left. That of a few pieces stands under the longest.
        middle = _LEFT + half if many else min(max(_LEFT + (low + high) / 2, half), across - half)
        first, last = middle - half, middle + half
        left = min(first, _LEFT + min(piece[0] for piece in pieces))
        right = max(last, _LEFT + max(piece[1] for piece in pieces))
        row = next((place for place, end in enumerate(taken) if left > end + 6), len(taken))
        taken[row : row + 1] = [right]
        y = bottom + row * _BRACKET + 3
        body += _density(pieces, y, across - _LEFT) if many else map(_bracket, pieces, itertools.repeat(y))
        # A font may be wider than it was taken for: a name grows towards the middle of the picture, and is not cut at its edge.
        begins = many or middle < across / 2
        body.append(text(first if begins else last, y + 19, words, "name" if begins else "name end"))
        yield row + 1


def _bracket(piece: tuple[float, float], y: int) -> str:
    start, end = piece
    # Corners would run together where a piece is a few pixels wide.
    corner = 5 if end - start >= 6 else 0
    path = f"M{number(_LEFT + start)} {y}v{corner}H{number(_LEFT + max(end, start + 1))}v-{corner}"
    return f'<path class="bracket" d="{path}"/>'


def _density(pieces: list[tuple[float, float]], y: int, room: int) -> Iterator[str]:
    """Many pieces as one strip, the stronger where they are the denser: brackets of a pixel each would only be dust."""
    shares = [0.0] * (room // _CELL + 1)
    for start, end in pieces:
        for cell in range(int(start // _CELL), min(int(end // _CELL) + 1, len(shares))):
            shares[cell] += max(min(end, (cell + 1) * _CELL) - max(start, cell * _CELL), 0.0) / _CELL
    place = 0
    # Cells that look alike are one box.
    for level, cells in itertools.groupby(map(_level, shares)):
        wide = len(list(cells))
        if level:
            x, opacity = number(_LEFT + place * _CELL), number(level / _LEVELS)
            yield f'<rect class="strip" x="{x}" y="{y}" width="{wide * _CELL}" height="5" opacity="{opacity}"/>'
        place += wide


def _level(share: float) -> int:
    """How strong a cell is drawn: at least the least where anything of it is claimed, as nothing says that nothing is."""
    return min(max(round(share * _LEVELS + 0.3), 1), _LEVELS) if share > 0 else 0


def _pieces(finding: FindingDocument, shown: Timeline, room: int) -> Iterator[tuple[float, float]]:
    for low, high in claimed(finding, shown):
        yield along(low, shown.dur_ns, room), along(high, shown.dur_ns, room)


def _sentence(shown: Timeline, noun: Noun) -> str:
    step = "the trace" if shown.step is None or noun == "recording" else f"{noun} {shown.step}"
    parts = []
    for lane in shown.lanes:
        busy = sum(span.worked_ns for span in lane.spans)
        parts.append(f"{safe.name(lane.name, 40)} {duration(busy)} in {count(len(lane.spans), 'piece')}")
    return f"Timeline of {step}, {duration(shown.dur_ns)} long. Busy: {'; '.join(parts)}."
