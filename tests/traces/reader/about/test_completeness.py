"""Files that end early: which of their steps are whole depends on the order in which the writer wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trace_files import lines, read_text, repaired, sound

from building.builders import TraceBuilder

STEP_NS = 100_000_000
Event = dict[str, Any]


def host_first(builder: TraceBuilder) -> TraceBuilder:
    """As kineto writes: marks and ops, then calls and device work."""
    builder.events.sort(key=lambda event: event["cat"] not in ("cpu_op", "user_annotation"))
    return builder


def cut(builder: TraceBuilder, share: float) -> str:
    text = lines(builder)
    return text[: int(len(text) * share)]


@pytest.mark.parametrize(
    "key", [lambda event: event["ts"], lambda event: event["ts"] + event["dur"]], ids=["starts", "ends"]
)
def test_a_file_in_the_order_of_time_is_whole_up_to_its_end(tmp_path: Path, key: Any) -> None:
    builder = sound(8)
    builder.events.sort(key=key)
    trace = read_text(tmp_path, cut(builder, 0.7))
    assert trace.whole_until_ns is not None
    assert 4.5 * STEP_NS < trace.whole_until_ns < 7 * STEP_NS
    assert trace.steps["number"].tolist() == [
        number for number in range(8) if (number + 1) * STEP_NS <= trace.whole_until_ns
    ]
    # In the order of ends the mark of a step that was cut is lost, too.
    assert repaired(trace).get("partial-step", 0) == (key({"ts": 0, "dur": 1}) == 0)


def test_of_a_file_with_ops_before_device_work_no_step_is_whole(tmp_path: Path) -> None:
    trace = read_text(tmp_path, cut(host_first(sound(8)), 0.9))
    assert trace.whole_until_ns is not None
    assert trace.whole_until_ns < STEP_NS
    assert trace.steps["number"].tolist() == list(range(8))
    assert repaired(trace) == {"truncated": 1}


def test_nothing_is_lost_behind_the_last_event_that_kineto_writes(tmp_path: Path) -> None:
    builder = host_first(sound(4))
    builder.events.append(
        {"ph": "i", "s": "g", "cat": "", "name": "Record Window End", "pid": "", "tid": "", "ts": 5_000_000}
    )
    builder.events.append({"ph": "M", "cat": "", "name": "process_name", "pid": 0, "tid": 0, "ts": 0, "args": {}})
    trace = read_text(tmp_path, lines(builder)[:-30])
    assert repaired(trace) == {"truncated": 1}
    assert trace.whole_until_ns is None
    assert len(trace.steps) == 4


def test_a_file_that_ends_behind_its_events_has_lost_none(tmp_path: Path) -> None:
    text = lines(host_first(sound(4)))
    trace = read_text(tmp_path, text.rstrip().removesuffix("}") + ',\n"traceName": "/home')
    assert repaired(trace) == {"truncated-metadata": 1, "damaged-metadata": 1}
    assert trace.whole_until_ns is None
    assert len(trace.steps) == 4


def test_a_whole_file_says_nothing_of_the_kind(tmp_path: Path) -> None:
    assert read_text(tmp_path, lines(host_first(sound()))).whole_until_ns is None


def test_python_frames_stand_in_an_order_of_their_own(tmp_path: Path) -> None:
    builder = sound(4)
    builder.events.sort(key=lambda event: event["ts"])
    for index in range(40):
        builder.python(f"train.py({index}): step", 1_000_000 + index * 10_000, 9_000)
    trace = read_text(tmp_path, lines(builder)[:-300])
    assert trace.whole_until_ns is not None
    assert trace.whole_until_ns > 3 * STEP_NS
