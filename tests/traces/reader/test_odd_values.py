"""Sound JSON with odd values (odd-traces rows 14-20 and 33-49): nothing absurd reaches a sum, nothing odd is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from trace_files import SHARED, each_shared, needs_shared, read_text, repaired, sound

from building.builders import TraceBuilder
from traces.errors import UnreadableTraceError
from traces.reader.read import read
from traces.trace import Capability, Trace


def kernels_in(trace: Trace) -> int:
    return int(trace.kernels["dur_ns"].sum())


def run(count: int = 60) -> TraceBuilder:
    """Launches in a row, kernels of 8 us back to back on one stream, in absolute time."""
    builder = TraceBuilder()
    base = 1_700_000_000_000_000
    for number in range(count):
        builder.launch(base + number * 10, kernel_start=base + 50 + number * 10, kernel_dur=8, call_dur=4)
    return builder


def kernel_events(builder: TraceBuilder) -> list[dict[str, object]]:
    return [event for event in builder.events if event["cat"] == "kernel"]


@pytest.mark.parametrize("dur", [-5, -0.001, -1e9])
def test_a_negative_duration_is_set_aside(dur: float) -> None:
    builder = run()
    kernel_events(builder)[30]["dur"] = dur
    trace = builder.trace()
    assert repaired(trace) == {"negative-duration": 1}
    assert kernels_in(trace) == 59 * 8000
    assert trace.quarantined[["kind", "dur_ns", "reason"]].to_numpy().tolist() == [
        ["kernels", round(dur * 1000), "negative-duration"]
    ]


def test_an_unfinished_kernel_ends_where_the_next_begins() -> None:
    builder = run()
    kernel_events(builder)[30]["dur"] = -1
    del kernel_events(builder)[40]["dur"]
    trace = builder.trace()
    assert repaired(trace) == {"unfinished": 2}
    assert sorted(trace.kernels["dur_ns"].unique().tolist()) == [8000, 10_000]


def test_an_unfinished_range_ends_with_the_window() -> None:
    builder = sound()
    builder.annotation("my range", 1_000_000, -1, thread=77)
    trace = builder.trace()
    odd = trace.annotations[trace.annotations["name"] == "my range"]
    assert odd["end_ns"].tolist() == [int(trace.steps["end_ns"].max())]


def test_an_empty_duration_is_kept() -> None:
    builder = run()
    kernel_events(builder)[30]["dur"] = 0
    trace = builder.trace()
    assert repaired(trace) == {}
    assert len(trace.kernels) == 60


@pytest.mark.parametrize("dur", [1e12, 1e300, 1e9, 2e6])
@pytest.mark.parametrize("place", [0, 30, 59])
def test_one_absurd_duration_reaches_no_sum(dur: float, place: int) -> None:
    builder = run()
    kernel_events(builder)[place]["dur"] = dur
    trace = builder.trace()
    assert repaired(trace) == {"absurd-duration": 1}
    assert kernels_in(trace) == 59 * 8000
    cleaned_and_raw = kernels_in(trace) + int(trace.quarantined["dur_ns"].sum())
    assert cleaned_and_raw >= min(dur, 4e15) * 1000


@pytest.mark.parametrize("count", [2, 3])
def test_several_absurd_durations_do_not_vouch_for_each_other(count: int) -> None:
    builder = run(200)
    for place in range(count):
        kernel_events(builder)[place * 50]["dur"] = 1e9 + place
    trace = builder.trace()
    assert repaired(trace) == {"absurd-duration": count}


def test_an_absurd_operator_is_set_aside() -> None:
    builder = run()
    builder.events[0]["dur"] = 1e10
    trace = builder.trace()
    assert trace.quarantined["kind"].tolist() == ["ops"]


def test_a_long_last_call_is_no_absurdity() -> None:
    builder = run()
    builder.launch(1_700_000_000_001_000, kernel_start=1_700_000_000_001_010, kernel_dur=5_000_000)
    builder.runtime("cudaDeviceSynchronize", 1_700_000_000_001_020, 5_000_000)
    trace = builder.trace()
    assert repaired(trace) == {}


def test_a_device_far_behind_a_host_that_is_done_is_no_absurdity() -> None:
    builder = TraceBuilder()
    for number in range(600):
        builder.launch(number * 10, kernel_start=50 + number * 1_000, kernel_dur=1_000, call_dur=4)
    trace = builder.trace()
    assert repaired(trace) == {}
    assert kernels_in(trace) == 600 * 1_000_000


@pytest.mark.parametrize("count", [1, 12])
def test_starts_at_zero_do_not_stretch_the_window(count: int) -> None:
    builder = run()
    for event in kernel_events(builder)[:count]:
        event["ts"] = 0
    trace = builder.trace()
    assert repaired(trace) == {"absurd-start": count}
    assert trace.meta.origin_ns == 1_700_000_000_000_000_000
    assert int(trace.kernels["end_ns"].max()) < 1_000_000
    assert (trace.quarantined["start_ns"] < -(10**15)).all()


def test_starts_far_ahead_do_not_stretch_the_window() -> None:
    builder = run()
    kernel_events(builder)[3]["ts"] = 1e300
    assert repaired(builder.trace()) == {"absurd-start": 1}


def test_a_range_around_everything_may_begin_early() -> None:
    builder = run()
    base = 1_700_000_000_000_000
    builder.annotation("whole run", base - 120_000_000, 121_000_000)
    assert repaired(builder.trace()) == {}


def test_two_windows_far_apart_are_both_kept() -> None:
    builder = run()
    for number in range(60):
        builder.launch(
            1_700_000_600_000_000 + number * 10, kernel_start=1_700_000_600_000_050 + number * 10, kernel_dur=8
        )
    builder.launch(1_700_000_600_100_000, kernel_start=1_700_000_600_100_050, kernel_dur=8)
    trace = builder.trace()
    assert repaired(trace) == {}
    assert len(trace.kernels) == 121


def test_small_overlaps_on_one_stream_are_kept() -> None:
    builder = TraceBuilder()
    for number in range(100):
        builder.kernel("k", number * 10, 12.5)
    trace = builder.trace()
    assert repaired(trace) == {}
    assert len(trace.kernels) == 100


def test_colliding_streams_of_merged_ranks_are_kept() -> None:
    builder = TraceBuilder()
    for number in range(100):
        builder.kernel("short", number * 10, 5)
        if number % 10 == 0:
            builder.kernel("long", number * 10, 95)
    assert repaired(builder.trace()) == {}


def test_spans_that_cross_on_one_thread_are_kept() -> None:
    builder = TraceBuilder(device=None)
    builder.op("a", 0, 100)
    builder.op("b", 50, 100)
    builder.op("c", 99.9996, 0.0009)
    trace = builder.trace()
    assert repaired(trace) == {}
    assert len(trace.ops) == 3


def test_threads_with_names_for_numbers_keep_their_streams() -> None:
    builder = TraceBuilder()
    builder.event("k", "Kernel", 1, 5, pid="Spans", tid="stream 7")
    builder.event("k", "Kernel", 9, 5, pid="0", tid="stream 99999999999999999999")
    assert builder.trace().kernels["stream"].tolist() == [7, 0]


def test_a_trace_without_kernels_keeps_its_launches() -> None:
    builder = TraceBuilder()
    builder.runtime("cudaLaunchKernel", 1, 5)
    trace = builder.trace()
    assert len(trace.runtime) == 1
    assert Capability.DEVICE not in trace.capabilities
    assert trace.meta.device_kind == "cuda"


def test_a_trace_of_kernels_alone_is_read() -> None:
    builder = TraceBuilder()
    builder.kernel("k", 1, 5, correlation=1)
    trace = builder.trace()
    assert Capability.DEVICE in trace.capabilities
    assert Capability.HOST_OPS not in trace.capabilities
    assert Capability.LAUNCHES not in trace.capabilities


def test_kernels_of_one_graph_share_their_correlation() -> None:
    builder = TraceBuilder()
    builder.runtime("cudaGraphLaunch", 1, 5, correlation=8)
    for number in range(4):
        builder.kernel("k", 10 + number * 5, 5, correlation=8)
    builder.kernel("k", 50, 5, correlation=0)
    trace = builder.trace()
    assert trace.runtime["kind"].tolist() == ["graph_launch"]
    assert trace.kernels["correlation"].tolist() == [8, 8, 8, 8, 0]


def test_two_devices_of_one_process_stay_apart() -> None:
    builder = TraceBuilder()
    builder.kernel("k", 1, 5, device=0, stream=7)
    builder.kernel("k", 1, 5, device=1, stream=7)
    assert sorted(builder.trace().kernels["device"]) == [0, 1]


def test_a_step_marked_twice_counts_once() -> None:
    builder = sound()
    builder.step(1, 1_100_010, 50, tid=99)
    builder.event("ProfilerStep#1", "gpu_user_annotation", 1_100_000, 99_000, pid=0, tid=7, args={"stream": 7})
    trace = builder.trace()
    assert trace.steps["number"].tolist() == [0, 1, 2]
    assert trace.steps["dur_ns"].tolist() == [100_000_000] * 3
    assert len(trace.gpu_annotations) == 1


def test_python_calls_are_kept_with_broken_ids() -> None:
    builder = sound(1)
    builder.event("f", "python_function", 1_000_000, 5, args={"Python id": None, "Python parent id": "x"})
    trace = builder.trace()
    assert trace.python["python_id"].isna().all()


def test_long_and_binary_names_are_kept() -> None:
    builder = TraceBuilder(device=None)
    # Longer ones are shown by their ends: `test_hostile.py`.
    names = ["x" * 8_000, "<script>alert(1)</script> & [red]", "\u202e\u0000\u0007", ""]
    for at, name in enumerate(names):
        builder.op(name, at, 1)
    assert builder.trace().ops["name"].astype(str).tolist() == names


def test_relative_stamps_keep_the_base_of_the_clock(tmp_path: Path) -> None:
    builder = sound(1)
    builder.top |= {"baseTimeNanoseconds": 1_700_000_000_000_000_123, "displayTimeUnit": "ns"}
    trace = builder.trace()
    assert trace.meta.base_ns == 1_700_000_000_000_000_123
    assert trace.meta.origin_ns == 1_000_000_000
    assert trace.steps["dur_ns"].tolist() == [100_000_000]


@needs_shared
@each_shared
@pytest.mark.parametrize("factor", [1e6])
def test_one_kernel_of_a_recorded_trace_made_absurd(tmp_path: Path, path: Path, factor: float) -> None:
    import gzip
    import json

    if path.stat().st_size > 200_000:
        pytest.skip("small traces say the same, faster")
    document = json.loads(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"), strict=False)
    events = document if isinstance(document, list) else document["traceEvents"]
    kernels = [event for event in events if str(event.get("cat")).lower() == "kernel"]
    spans = sum(event.get("ph") == "X" for event in events)
    if not kernels or spans < 20:
        pytest.skip("it holds no kernels, or too few events to say what is long")
    kernel = kernels[len(kernels) // 2]
    kernel["dur"] = max(float(kernel["dur"]), 1.0) * factor
    trace = read_text(tmp_path, json.dumps(document))
    assert trace.quarantined["reason"].tolist() == ["absurd-duration"]
    assert int(trace.quarantined["dur_ns"].iloc[0]) == pytest.approx(kernel["dur"] * 1000, rel=1e-3)


@needs_shared
def test_graph_kernels_of_a_recorded_trace_are_kept() -> None:
    trace = read(SHARED / "tracelens_vllm_decode_hipgraph.json.gz")
    assert (trace.runtime["kind"] == "graph_launch").any()
    assert trace.kernels["correlation"].duplicated().any()


@pytest.mark.parametrize("fraction", [0, 0.125])
@pytest.mark.parametrize(
    ("dur", "repairs"), [("x", {"unfinished": 1}), ("8", {}), (True, {"wrong-type": 1, "unfinished": 1})]
)
def test_a_text_for_a_time_reads_the_same_whatever_the_stamps_are_decoded_into(
    fraction: float, dur: object, repairs: dict[str, int]
) -> None:
    """Parts of one file may differ in it."""
    builder = run()
    for event in builder.events:
        event["ts"] += fraction
    kernel_events(builder)[30]["dur"] = dur
    assert repaired(builder.trace()) == repairs


@pytest.mark.parametrize("change", [lambda ts: ts * 1000, lambda ts: -ts * 1000], ids=["nanoseconds", "negative"])
def test_times_that_no_clock_shows_are_refused(change: Callable[[float], float]) -> None:
    builder = run()
    for event in builder.events:
        event["ts"] = change(event["ts"])
    with pytest.raises(UnreadableTraceError, match="these may be nanoseconds"):
        builder.trace()
    # Allocations have no length, and are left: it was told that the profiler had cleared its events.
    allocation = {"ph": "i", "args": {"Bytes": 8, "Device Type": 1, "Device Id": 0}}
    builder.event("[memory]", "cpu_instant_event", change(1_700_000_000_000_100), None, **allocation)
    with pytest.raises(UnreadableTraceError, match="these may be nanoseconds"):
        builder.trace()
    builder.events += run().events
    trace = builder.trace()
    assert repaired(trace) == {"absurd-start": 180}
    assert len(trace.kernels) == 60
