"""Counters of devices as torch 2.15 writes them: text instead of process numbers, and series without a name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.facts import Facts
from analyzer.facts.kernels.counters import CLOCK
from building.builders import TraceBuilder
from traces.reader.read import read


def world(clocks: tuple[float, ...] = (1_980, 1_500, 1_485), *, metric: bool = False) -> TraceBuilder:
    """Steps of 1 ms, each half busy; a sample in every busy half, and one in every idle half."""
    builder = TraceBuilder()
    for number, clock in enumerate(clocks):
        at = number * 1_000
        builder.step(number, at, 1_000)
        builder.launch(at + 10, kernel_start=at + 100, kernel_dur=500)
        builder.counter("SM Clock (MHz)", at + 300, clock)
        builder.counter("SM Clock (MHz)", at + 900, 345)
        builder.counter("Power (W)", at + 300, 400.5)
        builder.counter("Cycles (Current Kernel)", at + 100, 990_000)
        if metric:
            builder.counter("SM Active (%)", at + 300, 71.5)
    return builder


def test_a_sample_keeps_name_device_time_and_value() -> None:
    frame = world().trace().counters
    first = frame.iloc[1]
    assert (str(first["name"]), first["device"], first["start_ns"], first["value"]) == (
        "SM Clock (MHz)",
        0,
        300_000,
        1_980.0,
    )
    assert len(frame) == 12


def test_only_samples_of_busy_time_count() -> None:
    found = Facts(world().trace()).kernels.counters
    clock = found.of(CLOCK, 0)
    assert clock is not None
    assert (clock.unit, clock.value.tolist()) == ("MHz", [1_980.0, 1_500.0, 1_485.0])
    assert [one.name for one in found.rows] == ["Power", "SM Clock"]
    assert not found.locked


def test_metrics_lock_the_clocks() -> None:
    assert Facts(world(metric=True).trace()).kernels.counters.locked


@pytest.mark.parametrize(
    "event",
    [
        {"ph": "C", "name": "queue", "pid": 7, "ts": 5, "args": {"length": 3}},
        {"ph": "C", "name": "SM Clock (MHz)", "pid": "GPU 0 Counters", "ts": 5, "args": {"": "fast"}},
        {"ph": "C", "name": "SM Clock (MHz)", "pid": "GPU 0 Counters", "args": {"": 5}},
        {"ph": "C", "name": "SM Clock (MHz)", "pid": "GPU 0 Counters", "ts": 5},
        {"ph": "C", "name": "SM Clock (MHz)", "pid": "somebody", "ts": 5, "args": {"": 5}},
        {"ph": "C", "name": None, "pid": "GPU 0 Counters", "ts": 5, "args": None},
    ],
)
def test_what_is_no_sample_is_left_out(event: dict[str, object], tmp_path: Path) -> None:
    builder = world()
    builder.events.append(event)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(builder.document()))
    assert len(read(path).counters) == 12


def test_without_counters_the_frame_is_empty() -> None:
    builder = TraceBuilder().step(0, 0, 10)
    builder.launch(1, kernel_start=2, kernel_dur=3)
    trace = builder.trace()
    assert len(trace.counters) == 0
    assert Facts(trace).kernels.counters.rows == ()


def test_counters_do_not_move_the_beginning_of_the_trace() -> None:
    builder = world()
    builder.counter("Power (W)", -500, 90)
    trace = builder.trace()
    assert trace.steps["start_ns"].tolist() == [0, 1_000_000, 2_000_000]
    assert trace.counters["start_ns"].min() == -500_000


def test_inductors_own_figures_are_kept() -> None:
    builder = TraceBuilder()
    builder.op("triton_poi_fused_add_0", 0, 10, kernel_flop=0, kernel_num_gb=0.25)
    builder.op("triton_tem_fused_mm_1", 20, 10, kernel_flop=2_000_000, kernel_num_gb=0.001)
    builder.op("aten::add", 40, 10)
    builder.op("odd", 60, 10, kernel_flop="many", kernel_num_gb=-1)
    ops = builder.trace().ops
    assert ops["stated_flops"].fillna(-1).tolist() == [0, 2_000_000, -1, -1]
    assert ops["stated_bytes"].fillna(-1).tolist() == [250_000_000, 1_000_000, -1, -1]
