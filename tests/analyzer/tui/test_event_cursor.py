"""Arrow keys on the lanes of a step: which event they go to, and what is said of it."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import analyses
from analyzer.cause_names import CAUSES
from analyzer.tui.draw.cursor import Cursor, across, along, first, told
from analyzer.tui.draw.timeline import View, picture
from analyzer.tui.look.glyphs import UNICODE
from analyzer.views.step_lanes import StepLanes, Track

MS = 1_000_000


def track(
    name: str, level: int, *spans: tuple[int, int], labels: tuple[str, ...] = ("linear",), detail: str = ""
) -> Track:
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T * MS
    zeros = np.zeros(len(spans), dtype=np.int64)
    return Track(name, "host", level, starts, ends, zeros, zeros + CAUSES.index("compute"), labels, zeros, (detail,))


@pytest.fixture
def step() -> StepLanes:
    tracks = (
        track("main thread", 0, (0, 10), (20, 30), (80, 90)),
        track("depth 2", 1, (21, 22)),
        track("thread 7", 0),
        track("stream 7", 0, (40, 60), labels=("a_kernel",)),
    )
    return StepLanes(6, 0, 100 * MS, tracks, (), 0)


def at(cursor: Cursor | None) -> tuple[str, int]:
    assert cursor is not None
    return cursor.track.name, cursor.event


@pytest.mark.parametrize(("moment", "event"), [(0, 0), (5, 0), (14, 0), (16, 1), (25, 1), (99, 2)])
def test_the_nearest_event_is_pointed_at_first(step: StepLanes, moment: int, event: int) -> None:
    assert at(first(step, moment * MS)) == ("main thread", event)


def test_a_step_without_events_has_none() -> None:
    assert first(StepLanes(0, 0, MS, (track("main thread", 0),), (), 0), 0) is None


def test_left_and_right_stay_in_the_lane_and_end_at_its_ends(step: StepLanes) -> None:
    cursor = first(step, 0)
    assert cursor is not None
    assert at(along(cursor, -1)) == ("main thread", 0)
    assert at(along(along(cursor, 1), 1)) == ("main thread", 2)
    assert at(along(along(along(cursor, 1), 1), 1)) == ("main thread", 2)


def test_up_and_down_skip_lanes_without_events(step: StepLanes) -> None:
    cursor = first(step, 85 * MS)
    assert cursor is not None
    below = across(step, cursor, 1)
    assert at(below) == ("depth 2", 0)
    assert at(across(step, below, 1)) == ("stream 7", 0)
    assert at(across(step, across(step, below, 1), 1)) == ("stream 7", 0)
    assert at(across(step, below, -1)) == ("main thread", 1)


def test_one_line_says_what_it_is(step: StepLanes) -> None:
    piece = analyses.doc.Intervals(title="Where in the step", step=6, spans=((5 * MS, 12 * MS),))
    findings = [msgspec.structs.replace(analyses.example().findings[0], evidence=(piece,))]
    nested = Cursor(step.tracks[1], 0)
    assert told(step, nested, (), "·") == "linear: 1.0 ms · at 21.0-22.0 ms · main thread, depth 2 · compute"
    # A finding of another step would not count.
    outer = Cursor(step.tracks[0], 0)
    assert told(step, outer, findings, "·").endswith(f" · beside the time of {findings[0].rule}")
    elsewhere = StepLanes(7, 0, 100 * MS, step.tracks, (), 0)
    assert "beside" not in told(elsewhere, outer, findings, "·")


def test_what_else_is_known_stands_in_the_line(step: StepLanes) -> None:
    sized = track("stream 7", 0, (40, 60), labels=("a_kernel",), detail="launched by linear, 64x128")
    cursor = Cursor(sized, 0)
    here = StepLanes(6, 0, 100 * MS, (sized,), (), 0)
    assert told(here, cursor, (), "·").endswith(" · stream 7 · compute · launched by linear, 64x128")


def test_the_event_is_drawn_reversed_and_its_lane_is_always_shown(step: StepLanes) -> None:
    cursor = Cursor(step.tracks[1], 0)
    drawn = picture(step, View(0, 100 * MS), None, 120, 4, UNICODE, cursor)
    (mark,) = [span for span in drawn.spans if "reverse" in str(span.style)]
    assert mark.end - mark.start == 1
    assert "depth 2" in drawn.plain
    assert "depth 2" not in picture(step, View(0, 100 * MS), None, 120, 4, UNICODE).plain
    far = picture(step, View(50 * MS, 100 * MS), None, 120, 4, UNICODE, cursor)
    assert not [span for span in far.spans if "reverse" in str(span.style)]
