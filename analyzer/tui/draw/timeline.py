"""A part of one step on as many lanes as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from textual.content import Content

from analyzer.analysis import Lane, Span
from analyzer.page.step.lanes import MOST_PIECES
from analyzer.tui.draw import lanes
from analyzer.tui.draw.cursor import Cursor
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.views.step_lanes import StepLanes, Track, choose_tracks
from analyzer.views.tracks import LanePiece

WIDEST_GUTTER = 18
# Lines beside the lanes: the axis above, the bracket below.
FRAME_LINES = 2


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
    tracks = _shown(step, height, cursor)
    gutter = min(WIDEST_GUTTER, max(8, width // 4), max((len(_name(track)) for track in tracks), default=0) + 2)
    room = max(1, width - gutter)
    rows = [" " * gutter + lanes.axis(view.dur_ns, room, view.start_ns)]
    # An empty line between lanes makes them easier to follow, where there is room.
    airy = height >= len(tracks) + sum(track.level == 0 for track in tracks) - 1 + FRAME_LINES
    for index, track in enumerate(tracks):
        rows += [Content("")] if airy and index and track.level == 0 else []
        name = Content.styled(_name(track), "" if track.level == 0 else "$quiet").truncate(gutter - 1, ellipsis=True)
        drawn = _lane(track, view, room, glyphs)
        if cursor is not None and cursor.track is track:
            drawn = _pointed(drawn, cursor, view, room)
        rows.append(name.pad_right(gutter - name.cell_length) + drawn)
    if mark is not None:
        spans = _visible(mark.spans, view)
        rows.append(_marked(spans, view, mark, gutter, room, glyphs))
    return Content("\n").join(row.truncate(width) for row in rows[:height])


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
    tracks = choose_tracks(step.tracks, max(1, height - FRAME_LINES))
    inside = sum(int(((track.end_ns > view.start_ns) & (track.start_ns < view.end_ns)).sum()) for track in tracks)
    return len(tracks), inside


def _shown(step: StepLanes, height: int, cursor: Cursor | None) -> tuple[Track, ...]:
    """The lanes there is room for; the one that is pointed at is among them, in place of the last."""
    tracks = choose_tracks(step.tracks, max(1, height - FRAME_LINES))
    if cursor is None or any(track is cursor.track for track in tracks):
        return tracks
    kept = [*tracks[:-1], cursor.track]
    return tuple(track for track in step.tracks if any(track is one for one in kept))


def _pointed(drawn: Content, cursor: Cursor, view: View, width: int) -> Content:
    """The lane with the event reversed; one narrower than a cell has a whole one."""
    cell = view.dur_ns / width
    start = int((cursor.start_ns - view.start_ns) / cell)
    end = max(int((cursor.end_ns - view.start_ns) / cell), start + 1)
    if end <= 0 or start >= width:
        return drawn
    return drawn.pad_right(max(0, width - drawn.cell_length)).stylize("reverse bold", max(start, 0), min(end, width))


def _name(track: Track) -> str:
    return f"  {line(track.name, 40)}" if track.level else line(track.name, 40)


def _lane(track: Track, view: View, width: int, glyphs: Glyphs) -> Content:
    spans = tuple(_span(piece, view) for piece in track.pieces(view.start_ns, view.end_ns, width))
    return lanes.lane([Lane(name=track.name, kind=cast("Any", track.kind), spans=spans)], view.dur_ns, width, glyphs)


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
