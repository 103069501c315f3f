"""Arrow keys on the lanes of a step: which event they go to, and what is said of it."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest
from textual.content import Content

from analyzer.analysis import Lane, Span
from analyzer.cause_names import CAUSES
from analyzer.tui.draw.cursor import Cursor, across, along, first, told
from analyzer.tui.draw.event import EVENT_LINES, event_lines
from analyzer.tui.draw.lane_rows import FRAME_LINES, lane_rows
from analyzer.tui.draw.lanes import lane, tall_lane
from analyzer.tui.draw.timeline import View, picture
from analyzer.tui.look.glyphs import UNICODE, choose
from analyzer.views.step_lanes import StepLanes, Track
from showing import analyses

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
    assert at(first(step, moment * MS, moment * MS)) == ("main thread", event)


def test_of_what_is_seen_a_lane_with_an_event_comes_first(step: StepLanes) -> None:
    assert at(first(step, 35 * MS, 55 * MS)) == ("stream 7", 0)
    assert at(first(step, 25 * MS, 55 * MS)) == ("main thread", 1)


def test_a_step_without_events_has_none() -> None:
    assert first(StepLanes(0, 0, MS, (track("main thread", 0),), (), 0), 0, MS) is None


def test_left_and_right_stay_in_the_lane_and_end_at_its_ends(step: StepLanes) -> None:
    cursor = first(step, 0, 0)
    assert cursor is not None
    assert at(along(cursor, -1)) == ("main thread", 0)
    assert at(along(along(cursor, 1), 1)) == ("main thread", 2)
    assert at(along(along(along(cursor, 1), 1), 1)) == ("main thread", 2)


def test_up_and_down_skip_lanes_without_events(step: StepLanes) -> None:
    cursor = first(step, 85 * MS, 85 * MS)
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


def test_many_findings_leave_room_for_the_shapes(step: StepLanes) -> None:
    piece = analyses.doc.Intervals(title="Where in the step", step=6, spans=((5 * MS, 12 * MS),))
    findings = [msgspec.structs.replace(one, evidence=(piece,)) for one in analyses.example().findings[:4]]
    sized = track("stream 7", 0, (6, 8), detail="64x128")
    said = told(StepLanes(6, 0, 100 * MS, (sized,), (), 0), Cursor(sized, 0), findings, "·")
    assert said.endswith(f" · beside the time of {findings[0].rule} and 3 more · 64x128")


@pytest.mark.parametrize(
    ("some", "last"), [(3, "finding   {rule} {title}"), (5, "finding   {rule} {title}, and 2 more")]
)
def test_findings_that_do_not_fit_are_counted(step: StepLanes, some: int, last: str) -> None:
    piece = analyses.doc.Intervals(title="Where in the step", step=6, spans=((5 * MS, 12 * MS),))
    findings = [msgspec.structs.replace(one, evidence=(piece,)) for one in analyses.example().findings[:some]]
    lines = event_lines(step, Cursor(step.tracks[1], 0), findings, 80, UNICODE)
    assert "finding" not in "".join(one.plain for one in lines)
    alone = track("stream 7", 0, (6, 8))
    lines = event_lines(StepLanes(6, 0, 100 * MS, (alone,), (), 0), Cursor(alone, 0), findings, 80, UNICODE)
    assert len(lines) == EVENT_LINES
    assert lines[-1].plain == last.format(rule=findings[2].rule, title=findings[2].title)


@pytest.mark.parametrize("event", [0, 1, 2])
def test_the_arrow_cuts_no_time_in_two(step: StepLanes, event: int) -> None:
    """Its cell is that of a time: the time goes, and the unit stands at the first that is left."""
    cursor = Cursor(track("main thread", 0, (19, 21), (0, 1), (41, 42)), event)
    times = picture(step, View(0, 100 * MS), None, 120, 4, UNICODE, cursor).plain.splitlines()[0]
    left = {0: ["0 ms", "40", "60", "80"], 1: ["20 ms", "40", "60", "80"], 2: ["0 ms", "20", "60", "80"]}
    assert re.findall(r"\d+(?: ms)?", times) == left[event]


def chosen(drawn: Content) -> list[tuple[str, int]]:
    """What is written in the colours of what is chosen, and how wide it is."""
    return [
        (str(span.style), span.end - span.start)
        for span in drawn.spans
        if "tab-back" in str(span.style) or "reverse" in str(span.style)
    ]


def test_the_event_stands_out_below_an_arrow_and_its_lane_is_always_shown(step: StepLanes) -> None:
    cursor = Cursor(step.tracks[1], 0)
    drawn = picture(step, View(0, 100 * MS), None, 120, 4, UNICODE, cursor)
    # Reversed, a filled cell would be as dark as a gap.
    assert chosen(drawn) == [("bold $tab-text on $tab-back", 1)]
    assert UNICODE.pointer in drawn.plain.splitlines()[0]
    assert "depth 2" in drawn.plain
    assert "depth 2" not in picture(step, View(0, 100 * MS), None, 120, 4, UNICODE).plain
    plain = picture(step, View(0, 100 * MS), None, 120, 4, choose(unicode=False, coloured=False), cursor)
    assert chosen(plain) == [("reverse bold", 1)]
    assert "v" in plain.plain.splitlines()[0]
    far = picture(step, View(50 * MS, 100 * MS), None, 120, 4, UNICODE, cursor)
    assert not chosen(far)
    assert UNICODE.pointer not in far.plain


def test_lanes_take_the_rows_there_are_devices_first(step: StepLanes) -> None:
    device = msgspec.structs.replace(step.tracks[3], kind="device")
    step = msgspec.structs.replace(step, tracks=(*step.tracks[:3], device))
    heights = {}
    for height in (6, 9, 10, 12, 13, 40):
        rows = lane_rows(step, height)
        heights[height] = [sum(row is not None and row[0] is track for row in rows) for track in step.tracks]
        assert len(rows) <= height - FRAME_LINES
    assert heights[6] == [1, 1, 1, 1]
    assert heights[9] == [1, 1, 1, 2]
    assert heights[13] == [2, 2, 2, 3]
    assert heights[40] == [4, 3, 4, 8]


def test_a_device_is_drawn_as_high_as_it_is_busy() -> None:
    busy = Span(start_ns=0, dur_ns=100, label="a_kernel", cause="compute", busy_ns=40)
    lane = Lane(name="stream 7", kind="device", spans=(busy,))
    (low,) = tall_lane(lane, 100, 8, 1, UNICODE)
    assert "▃" in low.plain
    top, bottom = tall_lane(lane, 100, 8, 2, UNICODE)
    assert top.plain == " " * 8
    assert "▆" in bottom.plain
    host = Lane(name="main thread", kind="host", spans=(busy,))
    above, below = tall_lane(host, 100, 12, 2, UNICODE)
    assert "a_kernel" in below.plain
    assert "a_kernel" not in above.plain
    assert above.spans[0].style == below.spans[0].style


def test_calls_shorter_than_a_cell_leave_their_lane_no_gap() -> None:
    """A thousand calls of 1 us in 100 ms: 1 % of each cell."""
    starts = np.arange(1_000, dtype=np.int64) * 100_000
    zeros = np.zeros(1_000, dtype=np.int64)
    nested = Track("depth 2", "host", 1, starts, starts + 1_000, zeros, zeros, ("empty",), zeros, ("",))
    step = StepLanes(0, 0, 100 * MS, (track("main thread", 0, (0, 100)), nested), (), 0)
    row = next(
        line for line in picture(step, View(0, 100 * MS), None, 100, 4, UNICODE).plain.splitlines() if "depth" in line
    )
    assert "▁▁▁▁" in row
    assert UNICODE.gap not in row


def test_one_event_is_named_by_its_beginning_not_by_its_cause() -> None:
    name = "DistributedDataParallel.forward"
    spans = tuple(
        Span(start_ns=at, dur_ns=50, label=label, cause="framework", busy_ns=50)
        for at, label in ((0, name), (50, f"{name} +3"))
    )
    shown = lane([Lane(name="main thread", kind="host", spans=spans)], 100, 40, UNICODE).plain
    assert shown.split() == ["DistributedDataP…", "framework"]


def test_below_the_lanes_stands_what_is_known_of_the_event(step: StepLanes) -> None:
    piece = analyses.doc.Intervals(title="Where in the step", step=6, spans=((20 * MS, 21 * MS),))
    finding = msgspec.structs.replace(analyses.example().findings[0], evidence=(piece,))
    nested = Cursor(step.tracks[1], 0)
    told_of = [line.plain for line in event_lines(step, nested, [finding], 80, UNICODE)]
    assert told_of[1] == "linear  1.0 ms  1.0 % of the step"
    assert "inside    linear" in told_of
    assert not any(line.startswith("finding") for line in told_of)
    outer = [line.plain for line in event_lines(step, Cursor(step.tracks[0], 1), [finding], 80, UNICODE)]
    assert f"finding   {finding.rule} {finding.title}" in outer
    assert "alike     3 events of this name in the lane, 30 ms together" in outer
    assert len(outer) <= EVENT_LINES
    many = event_lines(step, Cursor(step.tracks[0], 1), [finding] * 20, 80, UNICODE)
    assert len(many) == EVENT_LINES
