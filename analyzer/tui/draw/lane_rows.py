"""Which lane each row of the timeline belongs to: nested lanes where there is room, then taller ones."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.tui.draw.cursor import Cursor
from analyzer.views.step_lanes import StepLanes, Track, choose_tracks

# Lines beside the lanes: the axis above, the bracket below.
FRAME_LINES = 2
# How high lanes grow where there is room: devices first, drawn as high as they are busy; then threads, then what is nested.
HIGHEST = (8, 4, 3)


def lane_rows(step: StepLanes, height: int, cursor: Cursor | None = None) -> tuple[tuple[Track, int] | None, ...]:
    """For each row a lane and how high it is drawn, once for each of its rows; None where a row is left free.

    Args:
        step: The step.
        height: Rows, with those of the frame.
        cursor: What is pointed at; its lane is among them.
    """
    room = max(1, height - FRAME_LINES)
    tracks = shown(step, height, cursor)
    free = sum(track.level == 0 for track in tracks[1:])
    # An empty line between threads makes them easier to follow, where there is room.
    airy = room >= len(tracks) + free
    heights = _heights(tracks, room - len(tracks) - free) if airy else [1] * len(tracks)
    rows: list[tuple[Track, int] | None] = []
    for place, (track, high) in enumerate(zip(tracks, heights, strict=True)):
        rows += [None] if airy and place and track.level == 0 else []
        rows += [(track, high)] * high
    return tuple(rows)


def shown(step: StepLanes, height: int, cursor: Cursor | None = None) -> tuple[Track, ...]:
    """The lanes there is room for; the one that is pointed at is among them, in place of the last."""
    tracks = choose_tracks(step.tracks, max(1, height - FRAME_LINES))
    if cursor is None or any(track is cursor.track for track in tracks):
        return tracks
    kept = [*tracks[:-1], cursor.track]
    return tuple(track for track in step.tracks if any(track is one for one in kept))


def _heights(tracks: Sequence[Track], spare: int) -> list[int]:
    """Rows are given to all lanes of a kind or to none, as long as there are any."""
    heights = [1] * len(tracks)
    kinds = [0 if track.kind == "device" else 1 if track.level == 0 else 2 for track in tracks]
    for high in range(2, max(HIGHEST) + 1):
        for kind, highest in enumerate(HIGHEST):
            mine = [place for place, one in enumerate(kinds) if one == kind]
            if high <= highest and len(mine) <= spare:
                spare -= len(mine)
                for place in mine:
                    heights[place] = high
    return heights
