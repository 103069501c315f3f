"""An event of a step that is pointed at: where the arrow keys go from it, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from analyzer import units
from analyzer.analysis import FindingDocument, Intervals
from analyzer.cause_names import CAUSES
from analyzer.page.words.vocabulary import label
from analyzer.tui.look.plain import line
from analyzer.views.step_lanes import StepLanes, Track


@dataclass(frozen=True)
class Cursor:
    """An event: its lane, and its place among the lane's events."""

    track: Track
    event: int

    @property
    def start_ns(self) -> int:
        """Start, from the start of the step."""
        return int(self.track.start_ns[self.event])

    @property
    def end_ns(self) -> int:
        """End, likewise."""
        return int(self.track.end_ns[self.event])


def first(step: StepLanes, start_ns: int, end_ns: int) -> Cursor | None:
    """The event nearest to the middle of a time, of the first lane with one in it, else with any; None in a step without events."""
    found = [nearest(track, (start_ns + end_ns) // 2) for track in step.tracks if len(track.start_ns)]
    inside = (one for one in found if one.start_ns < end_ns and one.end_ns > start_ns)
    return next(inside, found[0] if found else None)


def along(cursor: Cursor, by: int) -> Cursor:
    """The next event of the lane, or the one before; the last stays the last."""
    place = min(max(cursor.event + by, 0), len(cursor.track.start_ns) - 1)
    return Cursor(cursor.track, place)


def across(step: StepLanes, cursor: Cursor, by: int) -> Cursor:
    """The event of the next lane with any (or the one before) that is nearest to this one's middle."""
    tracks = [track for track in step.tracks if len(track.start_ns)]
    here = next(place for place, track in enumerate(tracks) if track is cursor.track)
    there = tracks[min(max(here + by, 0), len(tracks) - 1)]
    return cursor if there is cursor.track else nearest(there, (cursor.start_ns + cursor.end_ns) // 2)


def nearest(track: Track, at_ns: int) -> Cursor:
    """Lanes hold disjoint events in order: the one that holds the moment, else the nearer neighbour."""
    after = int(np.searchsorted(track.end_ns, at_ns, side="right"))
    last = len(track.start_ns) - 1
    if after > last:
        return Cursor(track, last)
    if after and at_ns - track.end_ns[after - 1] < track.start_ns[after] - at_ns:
        return Cursor(track, after - 1)
    return Cursor(track, after)


def told(step: StepLanes, cursor: Cursor, findings: Iterable[FindingDocument], dot: str) -> str:
    """`linear: 200 us · at 76.00-76.20 ms · main thread · compute · beside the time of PY002 · 64x128`, one line without markup."""
    track, event = cursor.track, cursor.event
    name = line(track.labels[int(track.label[event])], 60)
    parts = [
        f"{name}: {units.duration(cursor.end_ns - cursor.start_ns)}",
        f"at {units.stretch(cursor.start_ns, cursor.end_ns).partition(' (')[0]}",
        line(lane_name(step, track), 40),
        label(CAUSES[int(track.cause[event])]),
    ]
    rules = [one.rule for one in findings if claims(one, step.number, cursor)]
    parts += [f"beside the time of {_few(rules)}"] if rules else []
    # Last: shapes are what is cut off where the line is too long.
    detail = line(track.details[int(track.detail[event])], 80)
    parts += [detail] if detail else []
    return f" {dot} ".join(parts)


def _few(rules: Sequence[str]) -> str:
    """`ID001, PY001`, or `ID001 and 3 more`: shapes stand behind them, and the line may have eighty cells."""
    return ", ".join(rules) if len(rules) <= 2 else f"{rules[0]} and {len(rules) - 1} more"


def lane_name(step: StepLanes, track: Track) -> str:
    """A nested lane with the name of its thread: the nearest outermost lane above it."""
    if track.level == 0:
        return track.name
    above = step.tracks[: next(place for place, one in enumerate(step.tracks) if one is track)]
    return next((f"{one.name}, {track.name}" for one in reversed(above) if one.level == 0), track.name)


def enclosing(step: StepLanes, cursor: Cursor) -> list[str]:
    """The names of what the event lies in, the outermost first; a device's work lies in nothing."""
    place = next(place for place, one in enumerate(step.tracks) if one is cursor.track)
    names: list[str] = []
    for level in range(cursor.track.level - 1, -1, -1):
        place = next(before for before in range(place - 1, -1, -1) if step.tracks[before].level == level)
        track = step.tracks[place]
        around = int(np.searchsorted(track.end_ns, cursor.start_ns, side="right"))
        if around < len(track.start_ns) and track.start_ns[around] <= cursor.start_ns:
            names.insert(0, track.labels[int(track.label[around])])
    return names


def claims(finding: FindingDocument, number: int, cursor: Cursor) -> bool:
    """Whether the event lies in the time that a finding explains in this step."""
    return any(
        isinstance(piece, Intervals)
        and piece.step == number
        and any(start < cursor.end_ns and end > cursor.start_ns for start, end in piece.spans)
        for piece in finding.evidence
    )
