"""Every repair of an event says which event it was and where that stands, whatever found it and however late."""

from __future__ import annotations

import codecs
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

from building.builders import TraceBuilder
from traces.errors import UnreadableTraceError
from traces.reader.input import source
from traces.reader.mend.places import Places, offsets
from traces.reader.read import read, read_every
from traces.trace import Repair, Trace

BASE = 1_700_000_000_000_000
KERNEL = 30  # events before the odd one


def test_places_of_a_later_part_are_numbered_on() -> None:
    first, later = Places(), Places()
    first.add(0, 10)
    later.add(2, 500)
    later.add(4, 700)
    first.extend(later, before=30)
    assert [first.around(event) for event in (0, 31, 32, 33, 99)] == [
        (0, 10, 500),
        (0, 10, 500),
        (32, 500, 700),
        (32, 500, 700),
        (34, 700, None),
    ]
    assert later.around(1) is None, "nothing is known before the first place"


@pytest.mark.parametrize("size", [1, 7, 64, 1_000_000])
@pytest.mark.parametrize("known", [(0,), (0, 4, 8), (0, 11), (4, 8)], ids=str)
def test_an_event_is_found_whatever_blocks_the_text_comes_in(known: tuple[int, ...], size: int) -> None:
    events = [json.dumps({"name": "x" * length, "args": {"nested": [{}]}}) for length in range(12)]
    text = ("[" + ",\n".join(events) + "]").encode()
    begins = [text.index(event.encode()) for event in events]
    places = Places()
    for event in known:
        places.add(event, begins[event])
    blocks = (text[at : at + size] for at in range(0, len(text), size))
    asked = (11, 3, 4, 0, 5, 7, 8, 40)
    # One before the first known place, and one there is not, are nowhere.
    assert offsets(blocks, places, asked) == {event: begins[event] for event in asked if known[0] <= event < 12}


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


def from_a_pipe(folder: Path, content: bytes) -> Trace:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    trace = read(pipe)
    writer.join()
    return trace


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_pipe_says_its_places_though_it_can_be_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: Callable[[bytes], bytes]
) -> None:
    events = run()
    changed(dur=1e12)(events)
    text = text_of(events)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed(text))))
    check(only(read(Path("-")), "absurd-duration"), text)
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(packed(text) if packed is gzip.compress else text * 2))
    )
    first, *_ = read_every(Path("-"))
    check({one.kind: one for one in first.repairs}["absurd-duration"], text)
    check(only(from_a_pipe(tmp_path, packed(text)), "absurd-duration"), text)


def test_of_a_pipe_that_gave_too_much_to_keep_the_event_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traces.reader.input.kept._MOST_BYTES", 100)
    monkeypatch.setattr("traces.reader.input.kept._FASTEST_LEVEL", 0)
    monkeypatch.setattr(source, "BLOCK_BYTES", 1000)
    events = run()
    changed(dur=1e12)(events)
    repair = only(from_a_pipe(tmp_path, text_of(events)), "absurd-duration")
    assert (repair.first_event, repair.first_offset) == (KERNEL, None)


@pytest.mark.parametrize("kind", ["absurd-duration", "invalid-number"])
@pytest.mark.parametrize("listed", [True, False])
def test_bytes_behind_a_mark_are_those_of_the_file(tmp_path: Path, kind: str, listed: bool) -> None:
    events = run()
    changed(dur=1e12 if kind == "absurd-duration" else 8)(events)
    events[KERNEL]["name"] = "§"
    text = text_of(events)
    if kind == "invalid-number":
        text = text.replace(b'"\\u00a7"', b"NaN")
    if listed:
        text = b"[" + text.partition(b"[")[2].removesuffix(b"}")
    text = codecs.BOM_UTF8 + text
    check(only(read_text(tmp_path, text), kind), text)
    with pytest.raises(UnreadableTraceError, match=f"event {KERNEL}"):
        read_text(tmp_path, text, strict=True)


def test_keys_before_the_events_are_read_behind_a_mark(tmp_path: Path) -> None:
    trace = read_text(tmp_path, codecs.BOM_UTF8 + b"\r\n" + text_of(run()))
    assert trace.meta.top == {"schemaVersion": 1}
    assert trace.repairs == ()
    both = b"".join(codecs.BOM_UTF8 + text_of(events) for events in (run(), run()[:-3]))
    (first, second) = read_every(_written(tmp_path, both))
    assert (first.repairs, second.repairs) == ((), ())


def _written(folder: Path, content: bytes) -> Path:
    path = folder / "written.json"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_bytes_of_a_text_in_utf_16_are_said_to_count_as_utf_8(tmp_path: Path, encoding: str) -> None:
    events = run()
    changed(dur=1e12)(events)
    text = text_of(events)
    trace = read_text(tmp_path, text.decode().encode(encoding))
    check(only(trace, "absurd-duration"), text)
    assert trace.notes[0].endswith("bytes are counted as in UTF-8")
    damaged = text.replace(b'"dur": 8', b'"dur": NaN', 1)
    with pytest.raises(UnreadableTraceError, match=r"where: byte [\d,]+, event \d+ \(bytes are counted as in UTF-8\)"):
        read_text(tmp_path, damaged.decode().encode(encoding), strict=True)


def test_a_sound_trace_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.reader.read.offsets", lambda *_: pytest.fail("read again"))
    assert read_text(tmp_path, text_of(run())).repairs == ()
