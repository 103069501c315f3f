"""A step of 100 ms: 40 ms in the loader, an op that launches 45 ms of kernels in many pieces, then 5 ms of nothing."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.spans.intervals import IntervalSet
from analyzer.views.step_lanes import choose_tracks, step_lanes
from building.builders import AUTOGRAD, TraceBuilder

MS = 1_000_000


def facts(device: str | None = "cuda") -> Facts:
    builder = TraceBuilder(device)
    for number in range(2):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.loader(at, 40_000)
        builder.op("aten::forward", at + 45_000, 10_000)
        builder.op("aten::inner", at + 46_000, 1_000)
        builder.op("MulBackward0", at + 60_000, 20_000, thread=AUTOGRAD)
        if device:
            for piece in range(45):
                start = at + 50_000 + piece * 1_000
                builder.launch(start - 40, kernel_start=start, kernel_dur=1_000, name="void at::k<4>(int)", op=None)
            builder.copy("HtoD", at + 41_000, 100, start=at + 41_010, dur=50, stream=9)
    return Facts(builder.trace())


def test_threads_and_streams_have_lanes():
    step = step_lanes(facts(), 1, {})
    assert (step.number, step.start_ns, step.dur_ns) == (1, 100 * MS, 100 * MS)
    assert [(track.name, track.kind, track.level) for track in step.tracks] == [
        ("main thread", "host", 0),
        ("depth 2", "host", 1),
        ("thread 4300", "host", 0),
        ("stream 7", "device", 0),
        ("stream 9", "device", 0),
    ]
    assert step.events == sum(len(track.start_ns) for track in step.tracks)


def test_long_events_stand_alone_and_short_neighbours_become_one():
    main, *_, stream, _ = step_lanes(facts(), 0, {}).tracks
    first = main.pieces(0, 100 * MS, 100)[0]
    assert (first.start_ns, first.end_ns, first.label, first.cause) == (0, 40 * MS, "next(loader)", "input")
    far, near = stream.pieces(0, 100 * MS, 50), stream.pieces(50 * MS, 60 * MS, 100)
    assert sum(piece.events for piece in far) == 45
    assert len(far) <= 4
    assert far[0].label.startswith("k +")
    assert sum(piece.busy_ns for piece in far) == stream.busy_ns
    assert [piece.label for piece in near] == ["k"] * 10
    assert stream.pieces(0, 10 * MS, 100) == ()


def test_gaps_say_what_the_host_was_in_and_which_finding_explains_them():
    claims = {"DL001-a": IntervalSet.of([(0, 40 * MS)]), "SY001-b": IntervalSet.of([(0, 1 * MS)])}
    step = step_lanes(facts(), 0, claims)
    gap = step.gaps[0]
    assert (gap.start_ns, gap.dur_ns, gap.finding) == (0, 41_010_000, "DL001-a")
    assert (gap.cause, gap.times) == ("input", 1)
    assert gap.host.startswith("enumerate(DataLoader)")
    assert step.gaps_ns == 100 * MS - 45 * MS - 50_000
    assert all(gap.finding is None for gap in step.gaps[1:])


def test_without_a_device_the_gaps_are_those_of_the_main_thread():
    step = step_lanes(facts(None), 0, {})
    assert [track.kind for track in step.tracks] == ["host"] * 3
    assert step.gaps[0].cause == "input"


def test_nested_lanes_go_first_where_there_is_no_room():
    tracks = step_lanes(facts(), 0, {}).tracks
    assert [track.name for track in choose_tracks(tracks, 2)] == ["main thread", "stream 7"]
    assert choose_tracks(tracks, 99) == tracks


@pytest.mark.parametrize(("pause_us", "listed"), [(0.001, 0), (0.099, 0), (0.1, 9), (1, 9)])
def test_pauses_that_are_rounding_have_no_row_but_are_counted(pause_us: float, listed: int) -> None:
    builder = TraceBuilder("cuda")
    builder.step(0, 0, 20_000)
    for piece in range(10):
        start = 5_000 + piece * (1_000 + pause_us)
        builder.launch(100 + piece * 20, kernel_start=start, kernel_dur=1_000, name="kernel", op=None)
    step = step_lanes(Facts(builder.trace()), 0, {})
    inside = [gap for gap in step.gaps if gap.dur_ns < 10_000]
    assert len(inside) == listed
    assert step.gaps_ns - sum(gap.dur_ns for gap in step.gaps) == (0 if listed else 9 * round(pause_us * 1_000))


def test_a_queue_that_waits_is_drawn_as_waiting():
    builder = TraceBuilder().step(0, 0, 10_000)
    builder.launch(0, kernel_start=10, kernel_dur=4_000, name="event_wait")
    builder.launch(20, kernel_start=4_100, kernel_dur=4_000, name="gemm")
    stream = step_lanes(Facts(builder.trace()), 0, {}).tracks[-1]
    assert [piece.cause for piece in stream.pieces(0, 10 * MS, 100)] == ["device_wait", "compute"]


def test_events_know_their_shapes_and_kernels_the_op_that_launched_them():
    builder = TraceBuilder("cuda")
    builder.step(0, 0, 1_000)
    builder.op("aten::linear", 10, 100, **{"Input Dims": [[64, 128], [], [256, 128]]})
    builder.launch(50, kernel_start=200, kernel_dur=300, name="gemm", op=None)
    # Nothing is known of the op of a call that stands alone.
    builder.launch(150, kernel_start=600, kernel_dur=100, name="other", op=None)
    main, *_, stream = step_lanes(Facts(builder.trace()), 0, {}).tracks
    assert [main.details[code] for code in main.detail.tolist()][:1] == ["64x128, 256x128"]
    assert [stream.details[code] for code in stream.detail.tolist()] == ["launched by linear, 64x128, 256x128", ""]
