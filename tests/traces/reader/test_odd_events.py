"""Events that say too little, too much or something else (odd-traces rows 22 and 25-31)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from trace_files import frames, insert, lines, read_text, repaired, sound, with_op

from traces.reader.decode import duplicate_keys as doubles
from traces.reader.input import source

OPS = 18
EVENTS = len(sound().events)


@pytest.fixture(params=[8 << 20, 700], ids=["one block", "small blocks"], autouse=True)
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", request.param)


def test_a_missing_phase_with_a_duration_is_a_span(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op("a", ph=""))
    assert len(trace.ops) == OPS + 1
    assert repaired(trace) == {"missing-phase": 1}


def test_a_missing_duration_ends_with_what_surrounds_it(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op("a", dur=""))
    odd = trace.ops[trace.ops["name"] == "a"]
    loader = trace.annotations[trace.annotations["kind"] == "loader"]
    assert odd["end_ns"].tolist() == loader["end_ns"].tolist()[:1]
    assert repaired(trace) == {"unfinished": 1}


def test_a_missing_start_costs_the_event(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op("a", ts=""))
    assert len(trace.ops) == OPS
    assert repaired(trace) == {"missing-start": 1}


def test_stamps_in_quotes_are_numbers(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op("a", ts='"1000010.5"', dur='"7"'))
    assert trace.ops.loc[trace.ops["name"] == "a", ["start_ns", "dur_ns"]].to_numpy().tolist() == [[10_500, 7000]]
    assert repaired(trace) == {}


@pytest.mark.parametrize("event", ["null", '"text"', "5", "[]", '[{"a": 1}, {"b": 2}]', "true"])
def test_what_is_no_event_is_left_out(tmp_path: Path, event: str) -> None:
    trace = read_text(tmp_path, insert(event))
    assert trace.meta.events == EVENTS
    assert repaired(trace) == {"not-an-event": 1}


def test_an_empty_event_is_left_out(tmp_path: Path) -> None:
    trace = read_text(tmp_path, insert("{}"))
    assert len(trace.ops) == OPS
    assert repaired(trace) == {"empty-event": 1}


@pytest.mark.parametrize("args", ["null", ""])
def test_arguments_may_be_absent(tmp_path: Path, args: str) -> None:
    trace = read_text(tmp_path, with_op("a", args=args))
    assert len(trace.ops) == OPS + 1
    assert repaired(trace) == {}


@pytest.mark.parametrize("args", ["[]", '"x"', "5"])
def test_arguments_of_another_type_are_dropped(tmp_path: Path, args: str) -> None:
    trace = read_text(tmp_path, with_op("a", args=args))
    assert len(trace.ops) == OPS + 1
    assert repaired(trace) == {"wrong-type": 1}


def test_values_of_another_type_are_converted(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op("a", name="17", tid="[4]", args='{"External id": [1], "Sequence number": 3}'))
    assert trace.ops.loc[trace.ops["name"] == "17", "sequence"].tolist() == [3]
    assert repaired(trace) == {"wrong-type": 3}


def test_of_a_doubled_key_the_last_counts(tmp_path: Path) -> None:
    trace = read_text(tmp_path, with_op("a", dur='9, "dur": 8'))
    assert trace.ops.loc[trace.ops["name"] == "a", "dur_ns"].tolist() == [8000]
    assert repaired(trace) == {"duplicate-key": 1}


@pytest.mark.parametrize("key", ["ph", "cat", "pid", "tid", "ts", "dur"])
@pytest.mark.parametrize("looked_at", [1 << 20, 1])
def test_every_event_that_states_a_key_twice_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, looked_at: int
) -> None:
    monkeypatch.setattr(doubles, "_LOOKED_AT_BYTES", looked_at)
    text, events = re.subn(rf'("{key}": [^,}}]+)', r"\1, \1", lines(sound(), indent=False))
    assert repaired(read_text(tmp_path, text)) == {"duplicate-key": events}


def test_arguments_named_like_keys_are_no_doubled_keys(tmp_path: Path) -> None:
    text = with_op("a", args='{"ts": 1, "ts": 2, "dur": 3}')
    assert repaired(read_text(tmp_path, text)) == {}


@pytest.mark.parametrize("value", ["9" * 5000, r'"\\q"', "[" * 900 + "]" * 900])
def test_a_doubled_key_beside_what_no_one_reads_is_harmless(tmp_path: Path, value: str) -> None:
    trace = read_text(tmp_path, with_op("a", dur='9, "dur": 8', args=f'{{"unread": {value}}}'))
    assert trace.ops.loc[trace.ops["name"] == "a", "dur_ns"].tolist() == [8000]


def test_an_event_that_stands_there_twice_counts_once(tmp_path: Path) -> None:
    builder = sound()
    builder.events += builder.events
    once, twice = read_text(tmp_path, lines(sound())), read_text(tmp_path, lines(builder))
    assert repaired(twice) == {"repeated-event": EVENTS}
    assert {name: len(frame) for name, frame in frames(twice).items()} == {
        name: len(frame) for name, frame in frames(once).items()
    }
    assert twice.kernels["dur_ns"].sum() == once.kernels["dur_ns"].sum()


def test_a_repetition_is_seen_where_runs_of_events_keep_different_arguments(tmp_path: Path) -> None:
    """Extents of a kernel are kept where another one of its run does not state how full the device was."""
    builder = sound()
    kernels = [event for event in builder.events if event["cat"] == "kernel"]
    for kernel in kernels:
        kernel["args"] |= {"blocks per SM": 0.5, "warps per SM": 4.0, "grid": [8, 1, 1], "block": [128, 1, 1]}
    del kernels[-1]["args"]["blocks per SM"]
    builder.events.append(dict(kernels[0]))
    trace = read_text(tmp_path, lines(builder))
    assert repaired(trace) == {"repeated-event": 1}
    assert len(trace.kernels) == len(kernels)


def test_equal_but_for_one_number_is_no_repetition(tmp_path: Path) -> None:
    builder = sound()
    kernel = next(event for event in builder.events if event["cat"] == "kernel")
    kernel["args"]["est. achieved occupancy %"] = 5.0
    for occupancy in (5.5, 5.0):
        builder.events.append({**kernel, "args": {**kernel["args"], "est. achieved occupancy %": occupancy}})
    assert repaired(read_text(tmp_path, lines(builder))) == {"repeated-event": 1}


def test_equal_times_alone_are_no_repetition(tmp_path: Path) -> None:
    builder = sound()
    kernel = next(event for event in builder.events if event["cat"] == "kernel")
    builder.events.append({**kernel, "args": {**kernel["args"], "correlation": 99}})
    assert repaired(read_text(tmp_path, lines(builder))) == {}


def test_halves_of_spans_are_joined(tmp_path: Path) -> None:
    def half(phase: str, name: str, time: float, thread: int = 4242) -> dict[str, object]:
        return {"ph": phase, "cat": "cpu_op", "name": name, "pid": 4242, "tid": thread, "ts": time}

    builder = sound()
    builder.events += [
        half("E", "inner", 1_000_030), half("B", "outer", 1_000_010), half("B", "inner", 1_000_020),
        half("E", "", 1_000_040.5), half("B", "open", 1_200_095), half("E", "nothing", 1_000_050, thread=9),
    ]  # fmt: skip
    trace = read_text(tmp_path, lines(builder))
    spans = trace.ops[trace.ops["name"].isin(["outer", "inner", "open"])]
    loader_end = int(trace.annotations.loc[trace.annotations["kind"] == "loader", "end_ns"].max())
    assert spans[["name", "start_ns", "end_ns"]].to_numpy().tolist() == [
        ["outer", 10_000, 40_500], ["inner", 20_000, 30_000], ["open", 200_095_000, loader_end],
    ]  # fmt: skip
    assert repaired(trace) == {"unmatched-end": 1, "unfinished": 1}


def test_events_nobody_knows_are_ignored(tmp_path: Path) -> None:
    builder = sound()
    for phase in ("C", "s", "f", "t", "N", "O", "D", "b", "e", "n", "I", "R", "P", "?"):
        builder.event("odd", "cpu_op", 1_000_000, None, ph=phase)
    trace = read_text(tmp_path, lines(builder))
    assert len(trace.ops) == OPS
    assert repaired(trace) == {}
