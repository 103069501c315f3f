"""Every frame has exactly the declared columns and dtypes, whatever the file holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from trace_files import dtype_here, each_shared, frames, needs_shared, sound

from building.builders import TraceBuilder
from running.recorded import trace_of
from traces.schema import SCHEMA
from traces.trace import Trace


def differences(trace: Trace) -> list[str]:
    found = []
    for name, frame in frames(trace).items():
        declared = {column: dtype_here(spec.dtype) for column, spec in SCHEMA[name].items()}
        actual = {column: str(dtype) for column, dtype in frame.dtypes.items()}
        if list(declared) != list(actual):
            found.append(f"{name}: columns {list(actual)}")
        found += [f"{name}.{c}: {actual[c]}" for c in declared if c in actual and declared[c] != actual[c]]
    return found


def test_a_builder_trace_has_the_declared_columns() -> None:
    assert differences(sound().trace()) == []


def test_a_trace_of_one_event_has_the_declared_columns() -> None:
    builder = TraceBuilder(device=None)
    builder.op("aten::add", 0, 5)
    assert differences(builder.trace()) == []


def test_memory_and_python_events_have_the_declared_columns() -> None:
    builder = sound(1).python("train.py(3): step", 1_000_000, 50)
    builder.event("[memory]", "cpu_instant_event", 1_000_001, None, ph="i", args={"Bytes": 8, "Device Id": -1})
    trace = builder.trace()
    assert differences(trace) == []
    assert len(trace.memory) == 1
    assert trace.memory["device_id"].isna().all()


@needs_shared
@each_shared
def test_a_recorded_trace_has_the_declared_columns_and_needs_no_repair(path: Path) -> None:
    trace = trace_of(path)
    assert differences(trace) == []
    assert trace.repairs == ()
    assert len(trace.quarantined) == 0


@needs_shared
@each_shared
def test_times_begin_at_zero_and_add_up(path: Path) -> None:
    trace = trace_of(path)
    starts = []
    for name, frame in frames(trace).items():
        if "end_ns" not in frame or frame.empty:
            continue
        assert (frame["start_ns"] + frame["dur_ns"]).equals(frame["end_ns"]), name
        assert frame["dur_ns"].min() >= 0, name
        assert frame["start_ns"].is_monotonic_increasing, name
        starts.append(frame["start_ns"].min())
    assert min(starts) == 0


def test_threads_are_referred_to_by_their_position() -> None:
    trace = sound().trace()
    for name in ("ops", "runtime", "annotations"):
        frame = getattr(trace, name)
        assert frame["thread"].between(0, len(trace.threads) - 1).all()
        expected = trace.threads["process"].to_numpy()[frame["thread"]]
        assert (frame["process"].to_numpy() == expected).all()


@pytest.mark.parametrize("name", list(SCHEMA))
def test_every_column_says_what_it_holds(name: str) -> None:
    for column, spec in SCHEMA[name].items():
        assert spec.text.endswith("."), column
        assert dtype_here(spec.dtype) in (spec.dtype, "object"), column
