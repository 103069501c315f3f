"""A step of 60 ms on the device, small enough to travel in a page: 45 kernels of 1 ms, 200 of 1 us, and an op of 30 ms."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from analyzer.facts import Facts
from analyzer.views.slim_lanes import SlimLanes, slim
from analyzer.views.step_lanes import StepLanes, step_lanes
from analyzer.views.tracks import Track
from building.builders import TraceBuilder


@pytest.fixture(scope="module")
def lanes() -> StepLanes:
    builder = TraceBuilder("cuda")
    builder.step(0, 0, 100_000)
    builder.op("aten::forward", 45_000, 30_000)
    for number in range(45):
        builder.launch(
            6_000 + number * 20, kernel_start=40_000 + number * 1_000, kernel_dur=1_000, name="long_kernel", op=None
        )
    for number in range(200):
        start = 86_000 + number * 10
        builder.launch(8_000 + number * 20, kernel_start=start, kernel_dur=1, name=f"short_kernel_{number}", op=None)
    return step_lanes(Facts(builder.trace()), 0, {})


def decoded(lanes: StepLanes, most_bytes: int = 2_000_000) -> SlimLanes:
    encoded = slim(lanes, str.upper, most_bytes)
    assert len(encoded) <= most_bytes
    return msgspec.json.decode(encoded, type=SlimLanes)


def test_all_events_travel_where_they_fit(lanes: StepLanes) -> None:
    told = decoded(lanes)
    assert sum(len(track.start) for track in told.tracks) == lanes.events
    assert (told.step, told.dur_ns, told.left_out, told.left_out_ns) == (0, 60_000_000, 0, 0)
    (stream,) = (track for track in told.tracks if track.kind == "device")
    assert (stream.start[0], stream.dur[0], told.labels[stream.label[0]]) == (0, 1_000_000, "LONG_KERNEL")
    assert told.causes[stream.cause[0]] == "compute"
    assert told.details[stream.detail[0]] == ""


def test_the_longest_stay_and_what_goes_is_counted(lanes: StepLanes) -> None:
    told = decoded(lanes, 3_000)
    kept = [length for track in told.tracks for length in track.dur]
    assert sum(kept) + told.left_out_ns == sum(track.busy_ns for track in lanes.tracks)
    assert len(kept) + told.left_out == lanes.events
    assert told.left_out >= 200
    assert min(kept) > 1_000
    assert told.labels == ["FORWARD", "LONG_KERNEL"]


def test_events_of_one_length_go_together(lanes: StepLanes) -> None:
    told = decoded(lanes, 700)
    assert [length for track in told.tracks for length in track.dur] == [30_000_000]


def test_a_step_without_events_is_told(lanes: StepLanes) -> None:
    told = decoded(msgspec.structs.replace(lanes, tracks=()))
    assert (told.tracks, told.left_out) == ([], 0)


def lane(name: str, durs: list[int]) -> Track:
    """Events one after the other, of these lengths, all of one name."""
    ends = np.cumsum(np.array(durs, np.int64))
    none = np.zeros(len(durs), np.int64)
    return Track(name, "host", 0, ends - durs, ends, none, none, ("aten::op",), none, ("",))


def test_a_lane_of_short_events_keeps_as_many_as_one_of_long_ones() -> None:
    """A million of ops of a microsecond beside kernels that are all longer: one length for both would leave its lane empty."""
    long, short = lane("stream", list(range(2_000, 3_000))), lane("thread", list(range(100, 1_100)))
    told = decoded(StepLanes(0, 0, 3_000_000, (long, short), (), 0), 6_000)
    kept = {track.name: track.dur for track in told.tracks}
    assert len(kept["STREAM"]) == len(kept["THREAD"]) > 50
    assert (max(kept["STREAM"]), max(kept["THREAD"])) == (2_999, 1_099)
    assert told.left_out == 2_000 - 2 * len(kept["STREAM"])


def test_what_a_short_lane_leaves_is_of_the_longer_ones() -> None:
    few, many = lane("few", [500] * 3), lane("many", list(range(2_000, 3_000)))
    told = decoded(StepLanes(0, 0, 3_000_000, (few, many), (), 0), 6_000)
    kept = {track.name: len(track.dur) for track in told.tracks}
    assert kept["FEW"] == 3
    assert kept["MANY"] > 100
