"""A part of one step on as many lanes as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from textual.content import Content

from analyzer.analysis import Lane, Span
from analyzer.page.step.lanes import MOST_PIECES
from analyzer.tui.draw import lanes
from analyzer.tui.draw.cursor import Cursor
from analyzer.tui.draw.lane_rows import lane_rows, shown
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.views.step_lanes import StepLanes, Track
from analyzer.views.tracks import LanePiece

WIDEST_GUTTER = 18


@dataclass(frozen=True)
class Mark:
    """What the bracket is under: pieces of the step, and a name for them."""

    spans: tuple[tuple[int, int], ...]
    label: str
    style: str


@dataclass(frozen=True)
class View:
    """The part of the step that is drawn, nanoseconds from its start."""

    start_ns: int
    end_ns: int

    @property
    def dur_ns(self) -> int:
        """Its length."""
        return max(1, self.end_ns - self.start_ns)


def picture(
    step: StepLanes,
    view: View,
    mark: Mark | None,
    width: int,
    height: int,
    glyphs: Glyphs,
    cursor: Cursor | None = None,
) -> Content:
    """Axis, lanes, bracket."""
    gutter = gutter_of(step, width, height, cursor)
    room = max(1, width - gutter)
    rows = [" " * gutter + _axis(view, room, cursor, glyphs)]
    for track, lines in groupby(lane_rows(step, height, cursor), key=lambda row: row):
        rows += [Content("") for _ in lines] if track is None else _lane(*track, view, gutter, room, glyphs, cursor)
    if mark is not None:
        spans = _visible(mark.spans, view)
        rows.append(_marked(spans, view, mark, gutter, room, glyphs))
    return Content("\n").join(row.truncate(width) for row in rows[:height])


def gutter_of(step: StepLanes, width: int, height: int, cursor: Cursor | None = None) -> int:
    """Cells left of the lanes, for their names."""
    longest = max((len(_name(track)) for track in shown(step, height, cursor)), default=0)
    return min(WIDEST_GUTTER, max(8, width // 4), longest + 2)


def _marked(
    spans: Sequence[tuple[int, int]], view: View, mark: Mark, gutter: int, room: int, glyphs: Glyphs
) -> Content:
    """What is marked, below the lanes: brackets, or one strip of many pieces with its name at the left."""
    if len(spans) > MOST_PIECES:
        name = Content.styled(mark.label, mark.style).truncate(gutter - 1, ellipsis=True)
        return name.pad_right(gutter - name.cell_length) + lanes.density(spans, view.dur_ns, room, glyphs, mark.style)
    return " " * gutter + (
        lanes.bracket(spans, view.dur_ns, room, mark.label, glyphs, mark.style) if spans else Content("")
    )


def drawn_events(step: StepLanes, view: View, height: int) -> tuple[int, int]:
    """How many of the lanes fit, and how many events lie in the part that is drawn."""
    tracks = shown(step, height)
    inside = sum(int(((track.end_ns > view.start_ns) & (track.start_ns < view.end_ns)).sum()) for track in tracks)
    return len(tracks), inside


def _columns(cursor: Cursor, view: View, width: int) -> tuple[int, int]:
    """The cells of an event: one narrower than a cell has a whole one; none where the second is not beyond the first."""
    cell = view.dur_ns / width
    start = int((cursor.start_ns - view.start_ns) / cell)
    end = max(int((cursor.end_ns - view.start_ns) / cell), start + 1)
    return max(start, 0), min(end, width)


def _axis(view: View, width: int, cursor: Cursor | None, glyphs: Glyphs) -> Content:
    """Times, and an arrow over the event that is pointed at: its colour alone may be that of its neighbours."""
    start, end = _columns(cursor, view, width) if cursor is not None else (0, 0)
    if start >= end:
        return lanes.axis(view.dur_ns, width, view.start_ns)
    middle = (start + end - 1) // 2
    times = lanes.axis(view.dur_ns, width, view.start_ns, middle)
    return times[:middle] + Content.styled(glyphs.pointer, "bold $key") + times[middle + 1 :]


def _pointed(drawn: Content, cursor: Cursor, view: View, width: int, glyphs: Glyphs) -> Content:
    """The lane with the event in the colours of what is chosen: reversed, a filled cell would look like a gap."""
    start, end = _columns(cursor, view, width)
    if start >= end:
        return drawn
    style = "bold $tab-text on $tab-back" if glyphs.coloured else "reverse bold"
    return drawn.pad_right(max(0, width - drawn.cell_length)).stylize(style, start, end)


def _name(track: Track) -> str:
    return f"  {line(track.name, 40)}" if track.level else line(track.name, 40)


def _lane(
    track: Track, high: int, view: View, gutter: int, width: int, glyphs: Glyphs, cursor: Cursor | None
) -> list[Content]:
    """The rows of a lane, its name beside the lowest."""
    spans = tuple(_span(piece, view) for piece in track.pieces(view.start_ns, view.end_ns, width))
    # What is nested is drawn as high as it is busy, as devices are: calls shorter than a cell would leave their lane empty.
    kind = "device" if track.level else track.kind
    lane = Lane(name=track.name, kind=cast("Any", kind), spans=spans)
    drawn = lanes.tall_lane(lane, view.dur_ns, width, high, glyphs)
    chosen = cursor is not None and cursor.track is track
    if cursor is not None and chosen:
        drawn = [_pointed(row, cursor, view, width, glyphs) for row in drawn]
    style = "bold $key" if chosen else "" if track.level == 0 else "$quiet"
    name = Content.styled(_name(track), style).truncate(gutter - 1, ellipsis=True)
    return [*(" " * gutter + row for row in drawn[:-1]), name.pad_right(gutter - name.cell_length) + drawn[-1]]


def _span(piece: LanePiece, view: View) -> Span:
    """The visible part of a piece, as busy as the whole of it."""
    start, end = max(piece.start_ns, view.start_ns), min(piece.end_ns, view.end_ns)
    return Span(
        start_ns=start - view.start_ns,
        dur_ns=end - start,
        label=piece.label,
        cause=cast("Any", piece.cause),
        busy_ns=(end - start) * piece.busy_ns // max(piece.end_ns - piece.start_ns, 1),
    )


def _visible(spans: Sequence[tuple[int, int]], view: View) -> list[tuple[int, int]]:
    return [
        (max(start, view.start_ns) - view.start_ns, min(end, view.end_ns) - view.start_ns)
        for start, end in spans
        if end > view.start_ns and start < view.end_ns
    ]
