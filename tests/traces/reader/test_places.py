"""Every repair of an event says which event it was and where that stands, whatever found it and however late."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trace_files import read_text, repaired

from builders import TraceBuilder
from traces.errors import UnreadableTraceError
from traces.reader import source
from traces.reader.read import read, read_every
from traces.trace import Repair, Trace

BASE = 1_700_000_000_000_000
KERNEL = 30  # events before the odd one


def run() -> list[dict[str, Any]]:
    """Launches in a row, each an op, a call and its kernel: three events."""
    builder = TraceBuilder()
    for number in range(60):
        builder.launch(BASE + number * 10, kernel_start=BASE + 50 + number * 10, kernel_dur=8, call_dur=4)
    return builder.events


def text_of(events: list[Any]) -> bytes:
    return b'{"schemaVersion": 1, "traceEvents": [\n' + ",\n".join(map(json.dumps, events)).encode() + b"\n]}"


def changed(**fields: Any) -> Callable[[list[Any]], None]:
    """Gives the kernel other values; None takes the key away."""

    def change(events: list[Any]) -> None:
        event = events[KERNEL + 2]
        event.update(fields)
        for key in [key for key, value in fields.items() if value is None]:
            del event[key]
        events[KERNEL], events[KERNEL + 2] = event, events[KERNEL]

    return change


def replaced(value: Any) -> Callable[[list[Any]], None]:
    def change(events: list[Any]) -> None:
        events.insert(KERNEL, value)

    return change


def half(phase: str, **fields: Any) -> Callable[[list[Any]], None]:
    return replaced({"ph": phase, "cat": "cpu_op", "name": "half", "pid": 1, "tid": 1, "ts": BASE + 100, **fields})


def again(events: list[Any]) -> None:
    events.insert(KERNEL, dict(events[KERNEL - 1]))


COLUMNS = {
    "absurd-duration": changed(dur=1e12),
    "absurd-start": changed(ts=0),
    "negative-duration": changed(dur=-5),
    "unfinished": changed(dur=None),
    "missing-start": changed(ts=None),
    "repeated-event": again,
    "missing-phase": changed(ph=None),
    "empty-event": replaced({}),
    "unmatched-end": half("E"),
    "swallowed-escape": replaced({**run()[0], "name": "site-packages\torch\nn.py(3): f", "ts": BASE + 3, "dur": 1}),
}
TEXTS = {
    "wrong-type": b"[]",
    "invalid-number": b"NaN",
    "invalid-escape": b'"C:\\Users"',
    "control-character": b'"a\x01b"',
    "invalid-utf8": b'"a\xffb"',
    "invalid-surrogate": b'"a\\ud800b"',
    "trailing-comma": b'"a", "args": {"x": 1,}',
    "lost-event": b'"a"b"',
}


def only(trace: Trace, kind: str) -> Repair:
    assert repaired(trace) == {kind: 1}
    return trace.repairs[0]


def check(repair: Repair, text: bytes) -> None:
    assert repair.first_event == KERNEL
    lines = text.split(b"\n")
    assert repair.first_offset == sum(len(line) + 1 for line in lines[: KERNEL + 1])


@pytest.fixture(params=[100, 900, source.PIECE_BYTES], autouse=True)
def _blocks(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(source, "PIECE_BYTES", request.param)


@pytest.mark.parametrize("kind", COLUMNS)
def test_what_is_mended_in_columns_says_its_place(tmp_path: Path, kind: str) -> None:
    events = run()
    COLUMNS[kind](events)
    text = text_of(events)
    check(only(read_text(tmp_path, text), kind), text)
    check(only(read_text(tmp_path, gzip.compress(text), name="t.json.gz"), kind), text)
    with pytest.raises(UnreadableTraceError, match=f"event {KERNEL}"):
        read_text(tmp_path, text, strict=True)


@pytest.mark.parametrize("kind", TEXTS)
def test_what_is_mended_in_text_says_its_place(tmp_path: Path, kind: str) -> None:
    events = run()
    events[KERNEL]["name"] = "§"
    text = text_of(events).replace(b'"\\u00a7"', TEXTS[kind])
    assert TEXTS[kind] in text
    check(only(read_text(tmp_path, text), kind), text)


def test_the_first_of_several_in_one_batch_says_its_place(tmp_path: Path) -> None:
    events = run()
    for number in (KERNEL, KERNEL + 1, KERNEL + 9, 170):
        events[number]["name"] = "§"
    text = text_of(events).replace(b'"\\u00a7"', b"NaN")
    trace = read_text(tmp_path, text)
    assert repaired(trace) == {"invalid-number": 4}
    check(trace.repairs[0], text)


def test_a_doubled_key_says_its_place(tmp_path: Path) -> None:
    text = text_of(run())
    lines = text.split(b"\n")
    lines[KERNEL + 1] = lines[KERNEL + 1].replace(b'"dur":', b'"dur": 1, "dur":')
    text = b"\n".join(lines)
    check(only(read_text(tmp_path, text), "duplicate-key"), text)


def test_the_first_of_a_kind_is_the_first_in_the_file(tmp_path: Path) -> None:
    """Columns are mended op before kernel, whatever stands first."""
    events = run()
    changed(dur=1e12)(events)
    events[90]["dur"] = 1e12
    text = text_of(events)
    trace = read_text(tmp_path, text)
    assert repaired(trace) == {"absurd-duration": 2}
    check(trace.repairs[0], text)


def test_two_halves_without_an_end_say_where_they_begin(tmp_path: Path) -> None:
    events = run()
    half("B")(events)
    text = text_of(events)
    check(only(read_text(tmp_path, text), "unfinished"), text)


def test_events_behind_lost_ones_have_their_place(tmp_path: Path) -> None:
    """Numbers count what was read; bytes are those of the file."""
    events = run()
    changed(dur=1e12)(events)
    text = text_of([events[0], None, *events[1:]]).replace(b"null", b'{"name": "a"b", "ph": "X"}')
    trace = read_text(tmp_path, text)
    assert repaired(trace) == {"absurd-duration": 1, "lost-event": 1}
    repair = {one.kind: one for one in trace.repairs}["absurd-duration"]
    assert repair.first_event == KERNEL
    assert text[repair.first_offset :].startswith(json.dumps(events[KERNEL]).encode())


def test_a_cut_step_says_its_place(tmp_path: Path) -> None:
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, BASE + number * 1000, 1000)
        builder.launch(BASE + number * 1000 + 10, kernel_start=BASE + number * 1000 + 50, kernel_dur=100)
    text = text_of(builder.events)[:-60]
    trace = read_text(tmp_path, text)
    repair = {one.kind: one for one in trace.repairs}["partial-step"]
    assert repair.count == 1
    assert repair.first_offset is not None
    assert text[repair.first_offset :].startswith(json.dumps(builder.events[repair.first_event or 0]).encode())
    assert b"ProfilerStep#3" in text[repair.first_offset :].split(b"\n")[0]


def test_the_second_trace_of_a_file_says_its_places_in_the_file(tmp_path: Path) -> None:
    events = run()
    changed(dur=1e12)(events)
    first, second = text_of(run()), text_of(events)
    path = tmp_path / "two.json"
    path.write_bytes(first + b"\n" + second)
    traces = read_every(path)
    repair = only(traces[1], "absurd-duration")
    assert repair.first_event == KERNEL
    assert path.read_bytes()[repair.first_offset :].startswith(json.dumps(events[KERNEL]).encode())
    alone = only(read(path), "several-documents")
    assert alone.first_offset == len(first) + 1


def test_a_second_trace_that_is_no_rank_says_where_it_begins(tmp_path: Path) -> None:
    first = text_of(run()).replace(b"{", b'{"distributedInfo": {"rank": 1}, ', 1)
    path = tmp_path / "two.json"
    path.write_bytes(first + b"\n" + first)
    (trace,) = read_every(path)
    assert only(trace, "several-documents").first_offset == len(first) + 1


def test_a_pipe_cannot_be_read_again_and_need_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = run()
    changed(dur=1e12)(events)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text_of(events))))
    repair = only(read(Path("-")), "absurd-duration")
    assert (repair.first_event, repair.first_offset) == (KERNEL, None)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(text_of(events),))
    writer.start()
    repair = only(read(pipe), "absurd-duration")
    writer.join()
    assert (repair.first_event, repair.first_offset) == (KERNEL, None)


def test_a_sound_trace_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.reader.read.offsets", lambda *_: pytest.fail("read again"))
    assert read_text(tmp_path, text_of(run())).repairs == ()
