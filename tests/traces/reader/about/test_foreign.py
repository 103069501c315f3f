"""What is said of files that other tools made of a trace: what they are, why, and what to do, never what is not so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trace_files import lines, read_text, repaired, sound

from building.builders import TraceBuilder
from traces.errors import UnreadableTraceError

Event = dict[str, Any]


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(UnreadableTraceError) as caught:
        read_text(folder, text)
    return f"{caught.value} {caught.value.why} {caught.value.fix}"


def with_span() -> TraceBuilder:
    """A sound trace with the span that kineto puts around every recording."""
    builder = sound()
    builder.event("PyTorch Profiler (0)", "Trace", 1_000_000, 300_000)
    return builder


@pytest.mark.parametrize(
    "change",
    [
        lambda event: event.update(ts=f"{event['ts']:,}"),
        lambda event: event.update(ts=f"{event['ts']} us"),
        lambda event: event.update(ph="x"),
        lambda event: event.update(ph="b"),
    ],
    ids=["thousands", "unit", "small letter", "asynchronous"],
)
def test_times_that_cannot_be_read_were_not_cleared_by_the_schedule(
    tmp_path: Path, change: Callable[[Event], None]
) -> None:
    builder = with_span()
    for event in builder.events:
        change(event)
    said = refusal(tmp_path, lines(builder))
    assert "states no times that can be read" in said
    assert "schedule" not in said


def test_a_trace_without_events_of_the_program_was(tmp_path: Path) -> None:
    builder = with_span()
    builder.events = builder.events[-1:]
    assert "the profiler's own span" in refusal(tmp_path, lines(builder))


def test_the_beginning_of_a_trace_is_one_of_torch(tmp_path: Path) -> None:
    builder = sound()
    builder.events.insert(
        0, {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}}
    )
    text = lines(builder)
    said = refusal(tmp_path, text[: text.index("ProfilerStep") - 30])
    assert "ends before the first event that takes time" in said
    assert "copy the file again whole" in said


@pytest.mark.parametrize("indent", [None, 2])
def test_events_without_a_list_around_them(tmp_path: Path, indent: int | None) -> None:
    said = refusal(tmp_path, "\n".join(json.dumps(event, indent=indent) for event in sound().events))
    assert "a list of events without brackets" in said
    assert "jq -s ." in said


def test_other_json_is_no_list_of_events(tmp_path: Path) -> None:
    document = sound().document()
    document["traceEvents"] = {str(number): event for number, event in enumerate(document["traceEvents"])}
    assert "has no traceEvents" in refusal(tmp_path, json.dumps(document))


@pytest.mark.parametrize("part", ["document", "events"])
def test_what_python_prints_is_no_json(tmp_path: Path, part: str) -> None:
    builder = sound()
    said = refusal(tmp_path, repr(builder.document() if part == "document" else builder.events))
    assert "Python's notation" in said
    assert "json.dump" in said


@pytest.mark.parametrize("count", [1, 2])
def test_a_list_of_traces_was_not_written_by_ranks_at_once(tmp_path: Path, count: int) -> None:
    said = refusal(tmp_path, json.dumps([sound().document()] * count))
    assert "a list of whole traces" in said
    assert "jq '.[0]'" in said


@pytest.mark.parametrize(
    "before", ["// by hand\n", "2026-01-01 INFO exporting\n", ")]}'\n", "var trace = ", "\ufeff# note\n"]
)
def test_text_before_a_trace_costs_nothing_but_a_repair(tmp_path: Path, before: str) -> None:
    builder = sound()
    trace = read_text(tmp_path, before + lines(builder))
    assert repaired(trace)["leading-text"] == 1
    assert "damaged-metadata" not in repaired(trace)
    assert trace.meta.devices == builder.top["deviceProperties"]
    assert len(trace.steps) == 3
