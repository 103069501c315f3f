"""Files of every kind (odd-traces rows 10-13 and 47): the content decides, and what is no trace is named."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import random
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from trace_files import lines, read_text, repaired, sound

from traces.errors import UnreadableTraceError
from traces.reader import limits
from traces.reader.input import inflate, source
from traces.reader.read import read, read_every
from traces.trace import Trace

TEXT = lines(sound()).encode()
EVENTS = len(sound().events)


def long_text() -> bytes:
    """A trace that does not compress to one block."""
    builder = sound(60)
    numbers = random.Random(5)
    for event in builder.events:
        event.setdefault("args", {})["x"] = f"{numbers.getrandbits(256):x}"
    return lines(builder).encode()


LONG = long_text()
LONG_EVENTS = EVENTS * 20


def refused(folder: Path, content: bytes, name: str = "trace.json") -> str:
    with pytest.raises(UnreadableTraceError) as caught:
        read_text(folder, content, name=name)
    assert caught.value.exit_code == 3
    return str(caught.value)


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz", "trace", "x.html"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress], ids=["plain", "gz", "bz2", "xz"])
def test_the_content_decides_not_the_name(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    trace = read_text(tmp_path, pack(TEXT), name=name, strict=True)
    assert trace.meta.events == EVENTS
    assert trace.meta.name == name


def zstd() -> Callable[[bytes], bytes]:
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        module = inflate._module(name)
        if module is not None:
            compress: Callable[[bytes], bytes] = module.compress
            return compress
    pytest.skip("no zstd module is installed")


def test_zstd_is_read(tmp_path: Path) -> None:
    compress = zstd()
    trace = read_text(tmp_path, compress(TEXT), strict=True)
    assert trace.meta.events == EVENTS
    half = len(TEXT) // 2
    assert read_text(tmp_path, compress(TEXT[:half]) + compress(TEXT[half:]), strict=True).meta.events == EVENTS


def stored_at(trace: Trace, kind: str) -> int:
    """Byte of the stored file at which damage of a kind was met."""
    (offset,) = (repair.first_offset for repair in trace.repairs if repair.kind == kind)
    assert offset is not None
    return offset


def test_a_cut_zstd_file_gives_what_is_there(tmp_path: Path) -> None:
    compress = zstd()
    half = len(LONG) // 2
    trace = read_text(tmp_path, (compress(LONG[:half]) + compress(LONG[half:]))[:-5])
    assert 10 < trace.meta.events < LONG_EVENTS
    assert repaired(trace)["truncated-gzip"] == 1


def test_zstd_without_a_decoder_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "_module", lambda name: None)
    message = refused(tmp_path, b"\x28\xb5\x2f\xfd" + bytes(100))
    assert "zstd" in message
    assert "pip install" in message


def test_gzip_members_follow_each_other(tmp_path: Path) -> None:
    pieces = [TEXT[at : at + 777] for at in range(0, len(TEXT), 777)]
    trace = read_text(tmp_path, b"".join(map(gzip.compress, pieces)), strict=True)
    assert trace.meta.events == EVENTS


def test_gzip_headers_of_every_kind_are_skipped(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    fields = b"\x03\x00abc" + b"name\0" + b"comment\0" + b"xx"
    content = packed[:3] + bytes([2 | 4 | 8 | 16]) + packed[4:10] + fields + packed[10:]
    assert read_text(tmp_path, content, strict=True).meta.events == EVENTS


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_cut_gzip_gives_what_is_there(tmp_path: Path, share: float) -> None:
    packed = gzip.compress(LONG)
    cut = int(len(packed) * share)
    trace = read_text(tmp_path, packed[:cut])
    assert (share - 0.15) * LONG_EVENTS < trace.meta.events < (share + 0.05) * LONG_EVENTS
    assert {"truncated", "truncated-gzip"} <= set(repaired(trace))
    assert stored_at(trace, "truncated-gzip") == cut


def test_a_gzip_cut_in_its_trailer_loses_nothing(tmp_path: Path) -> None:
    trace = read_text(tmp_path, gzip.compress(TEXT)[:-3])
    assert trace.meta.events == EVENTS
    assert repaired(trace) == {"truncated-gzip": 1}


def test_bytes_after_the_gzip_are_ignored(tmp_path: Path) -> None:
    assert read_text(tmp_path, gzip.compress(TEXT) + bytes(512), strict=True).meta.events == EVENTS
    packed = gzip.compress(TEXT)
    trace = read_text(tmp_path, packed + b"garbage")
    assert trace.meta.events == EVENTS
    assert repaired(trace) == {"trailing-bytes": 1}
    assert stored_at(trace, "trailing-bytes") == len(packed)


def test_a_wrong_checksum_is_told(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 0xFF
    trace = read_text(tmp_path, bytes(packed))
    assert trace.meta.events == EVENTS
    assert repaired(trace) == {"wrong-checksum": 1}
    assert stored_at(trace, "wrong-checksum") == len(packed) - 8


def test_damage_inside_a_gzip_keeps_what_stands_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "_INPUT_BYTES", 256)
    packed = bytearray(gzip.compress(LONG))
    middle = len(packed) * 2 // 3
    packed[middle : middle + 300] = b"\xff" * 300
    trace = read_text(tmp_path, bytes(packed))
    assert LONG_EVENTS // 3 < trace.meta.events <= LONG_EVENTS
    # It depends on the decoder when it sees that they mean nothing.
    (kind,) = {"damaged-gzip", "wrong-checksum", "truncated-gzip"} & set(repaired(trace))
    assert stored_at(trace, kind) >= middle - 256


@pytest.mark.parametrize("size", [8 << 20, 500])
def test_of_several_documents_the_first_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", size)
    for content in (TEXT + TEXT, gzip.compress(TEXT) + gzip.compress(TEXT)):
        trace = read_text(tmp_path, content)
        assert trace.meta.events == EVENTS
        assert repaired(trace) == {"several-documents": 1}
        assert "one file" in trace.repairs[0].message or "its own file" in trace.repairs[0].message
    lists = json.dumps(sound().events).encode()
    assert repaired(read_text(tmp_path, lists + b"\n" + lists)) == {"several-documents": 1}


def document(rank: int | None = None, steps: int = 3) -> bytes:
    builder = sound(steps)
    if rank is not None:
        builder.top["distributedInfo"] = {"rank": rank, "world_size": 2}
    return lines(builder).encode()


@pytest.mark.parametrize("size", [8 << 20, 500])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_documents_that_are_ranks_are_all_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", size)
    content = pack(document(1)) + b"" + pack(document(0, 4))
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    first, second = read_every(path, strict=True)
    assert [trace.meta.distributed["rank"] for trace in (first, second)] == [1, 0]
    assert [len(trace.steps) for trace in (first, second)] == [3, 4]
    assert [trace.meta.name for trace in (first, second)] == ["trace.json (1 of 2)", "trace.json (2 of 2)"]
    assert first.meta.sha256 == second.meta.sha256 == hashlib.sha256(content).hexdigest()


def test_documents_without_a_rank_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b"\n".join(json.dumps(sound(steps).events).encode() for steps in (3, 4, 5)))
    traces = read_every(path)
    assert [trace.meta.distributed for trace in traces] == [{"rank": index, "world_size": 3} for index in range(3)]
    assert all("no rank" in trace.notes[-1] for trace in traces)


def test_what_stands_there_twice_is_one_of_the_ranks(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(document() + b"\n" + document(steps=4) + b"\n" + document())
    assert [len(trace.steps) for trace in read_every(path)] == [3, 4]


def test_a_document_that_stands_there_twice_is_no_job_of_two_ranks(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(document() + b"\n" + document())
    (trace,) = read_every(path)
    (repair,) = trace.repairs
    assert repair.kind == "several-documents"
    assert repair.message.endswith("only the first was read: the first stands there again")
    assert len(trace.steps) == 3


@pytest.mark.parametrize(
    "content",
    [
        document(0) + document(0),
        document(0) + document(),
        document(0) + b'{"traceEvents": [',
        document(0) + b"[{]",
        document() + document(),
    ],
    ids=[
        "one rank twice",
        "a rank and none",
        "nothing in the second",
        "a broken second",
        "one recording twice",
    ],
)
def test_documents_that_are_no_ranks_leave_the_first(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    (trace,) = read_every(path)
    assert trace.meta.name == "trace.json"
    assert set(repaired(trace)) & {"several-documents", "trailing-text"}
    assert trace.meta.sha256 == hashlib.sha256(content).hexdigest()
    assert repaired(read(path)) == repaired(trace)


def test_one_document_is_one_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(TEXT)
    (trace,) = read_every(path, strict=True)
    assert trace.meta.events == EVENTS


def test_text_after_the_trace_is_ignored(tmp_path: Path) -> None:
    assert repaired(read_text(tmp_path, TEXT + b"\nDone.\n")) == {"trailing-text": 1}


def test_traces_written_into_each_other_are_refused(tmp_path: Path) -> None:
    third = len(TEXT) // 3
    message = refused(tmp_path, TEXT[:third] + TEXT[: third * 2] + TEXT[third:])
    assert "written into each other" in message
    assert "one file per rank" in message


def archive() -> bytes:
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:gz") as tar:
        info = tarfile.TarInfo("rank0.json")
        info.size = len(TEXT)
        tar.addfile(info, io.BytesIO(TEXT))
    return memory.getvalue()


def zipped() -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        file.writestr("rank0.json", TEXT)
    return memory.getvalue()


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (b"", "t.json", "is empty"),
        (b" \n\n", "t.json", "is empty"),
        (b"\0" * 4096, "t.json", "is empty"),
        (gzip.compress(b""), "t.json.gz", "is empty"),
        (b"<!DOCTYPE html><html>", "t.json", "an HTML page"),
        (b"\n  <HTML><head>", "t.json", "an HTML page"),
        (gzip.compress(b"<!doctype html>"), "t.json.gz", "an HTML page"),
        (b"<?xml version='1.0'?><Error>", "t.json", "an XML document"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "t.json", "git lfs pull"),
        (b"SQLite format 3\0" + bytes(99), "t.sqlite", "nsys stats"),
        (b"SQLite format 3\0" + bytes(99), "t.sqlite", "advisor collect"),
        (b"\x80\x04\x95\x00", "snapshot.pickle", "memory_viz"),
        (b"\x01\x02\x03NV" + bytes(99), "t.nsys-rep", "Nsight Systems"),
        (b"\x0a\x10\x12\x05/host:CPU\x01\x00", "t.xplane.pb", "XPlane"),
        (b"\x0a\x10\x12\x05\x00\x01\x08\x02", "t.pftrace", "ui.perfetto.dev"),
        (b"\x0a\x10\x12\x05\x00\x01\x08\x02", "t.json", "ui.perfetto.dev"),
        (b"\x80\x04\x95\x00", "t.pkl", "a pickle"),
        (zipped(), "t.json", "a zip archive"),
        (gzip.compress(zipped()), "t.json.gz", "a zip archive"),
        (gzip.compress(gzip.compress(TEXT)), "t.json.gz.gz", "compressed twice"),
        (bz2.compress(gzip.compress(TEXT)), "t.json.bz2", "compressed twice"),
        (gzip.compress(lzma.compress(TEXT)), "t.json.gz", "compressed twice"),
        (archive(), "t.tar.gz", "a tar archive"),
        (b"\x7fELF\x02\x01", "t", "a program"),
        (b"\x00\x01\x02binary", "t.json", "a binary file"),
        # As every 256th file of noise begins.
        (b"\x0a\x81\xf3\x02\x07\x9c", "t.json", "a binary file"),
        (b'{"message": "Not Found"}', "t.json", "an error message of a server"),
        (b'{"$schema": "https://www.speedscope.app/file-format-schema.json"}', "t.json", "speedscope"),
        (b'{"schema": "1.0.1", "nodes": [{"id": 1}]}', "t.json", "execution trace"),
        (b'{"a": 1}', "t.json", "has no traceEvents"),
        (b"hello", "t.json", "is not a Chrome trace"),
        (b"17", "t.json", "is not a Chrome trace"),
        (b"[]", "t.json", "holds no events"),
        (b'{"traceEvents": []}', "t.json", "holds no events"),
        (b'{"traceEvents": [', "t.json", "holds no events"),
        (b"[null, 5]", "t.json", "(null, a list, a text, a number)"),
        (b"[" * 100, "t.json", "(null, a list, a text, a number)"),
        (b'{"traceEvents": [{"ph": "X", "na', "t.json", "the file ends before its last event"),
    ],
)
def test_what_is_no_trace_is_named(tmp_path: Path, content: bytes, name: str, expected: str) -> None:
    assert expected in refused(tmp_path, content, name)


def test_of_a_folder_a_trace_that_is_in_it_is_named(tmp_path: Path) -> None:
    """`rank0.json.gz` was told of every folder, an empty one too."""
    (tmp_path / "config.json").write_text('{"lr": 1}')
    (tmp_path / "run.json").write_bytes(TEXT)
    with pytest.raises(UnreadableTraceError, match="is a folder") as caught:
        read(tmp_path)
    assert f"such as {tmp_path / 'run.json'}" in str(caught.value)


def test_a_folder_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTraceError, match="is a folder") as caught:
        read(tmp_path)
    assert "no trace lies directly in it" in str(caught.value)
    with pytest.raises(UnreadableTraceError, match="cannot open"):
        read(tmp_path / "none.json")
    with pytest.raises(UnreadableTraceError, match="cannot open"):
        read(tmp_path / "nul\0.json")


@pytest.mark.parametrize(
    ("process", "expected"), [("/device:TPU:0", "JAX or TensorFlow"), ("renderer", "nothing in it comes from torch")]
)
def test_chrome_traces_of_other_programs_are_named(tmp_path: Path, process: str, expected: str) -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": process}},
        {"ph": "X", "name": "fusion.3", "pid": 1, "tid": 2, "ts": 5, "dur": 6},
        {},
    ]
    assert expected in refused(tmp_path, json.dumps({"traceEvents": events}).encode())


_OP = {
    "ph": "X",
    "cat": "Op",
    "name": "MatMul",
    "pid": 1,
    "tid": 2,
    "ts": 5,
    "dur": 6,
    "args": {"name": "a", "op": "MatMul"},
}


def test_the_timeline_of_a_tensorflow_session_is_no_trace_of_torch(tmp_path: Path) -> None:
    """Its events are of a category that torch's are of, too; its processes are devices."""
    device = "/job:localhost/replica:0/task:0/device:GPU:0 Compute"
    named = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": device}}
    assert "of JAX or TensorFlow" in refused(tmp_path, json.dumps({"traceEvents": [named, _OP]}).encode())
    named["args"] = {"name": "python"}
    assert len(read_text(tmp_path, json.dumps({"traceEvents": [named, _OP]})).ops) == 1


@pytest.mark.parametrize("category", ["FEE", "fee"])
def test_a_trace_of_viztracer_is_named(tmp_path: Path, category: str) -> None:
    event = {**_OP, "cat": category, "name": "f (a.py:1)", "args": {}}
    assert "of VizTracer" in refused(tmp_path, json.dumps({"traceEvents": [event]}).encode())


def test_of_a_script_it_is_said_how_to_record_it(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTraceError) as caught:
        read_text(tmp_path, b"import torch\n", name="train.py")
    assert caught.value.fix == "record it first: advisor collect train.py"


def test_what_is_no_chrome_trace_at_all_is_named_for_what_it_is(tmp_path: Path) -> None:
    rows = json.dumps([{"Time (%)": 50.0, "Instances": 5, "Name": "sgemm"}] * 3)
    assert "a list of other objects" in refused(tmp_path, rows.encode())
    profile = {"nodes": [{"id": 1, "callFrame": {"functionName": "(root)"}, "children": []}], "startTime": 1}
    assert "a CPU profile of Node.js" in refused(tmp_path, json.dumps(profile).encode())
    graph = {"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1, "name": "[pytorch|profiler|execution_trace|thread]"}]}
    assert "an execution trace" in refused(tmp_path, json.dumps(graph).encode())
    events = {"Type": 79, "CudaEvent": {"startNs": "1", "endNs": "2", "deviceId": 0}}
    assert "that Nsight Systems exports" in refused(tmp_path, (json.dumps(events) + "\n").encode() * 3)
    frames = {"start_time": 1.0, "duration": 2.0, "root_frame": {"function": "main", "children": []}}
    assert "a profile of pyinstrument" in refused(tmp_path, json.dumps(frames).encode())
    lines_of = {"elapsed_time_sec": 12.3, "files": {"a.py": {"lines": []}}, "growth_rate": 0}
    assert "a profile of Scalene" in refused(tmp_path, json.dumps(lines_of).encode())
    assert "stacks for a flame graph" in refused(tmp_path, b"main;train;forward 120\nmain;load 20\n")
    assert "is not a Chrome trace" in refused(tmp_path, b"main: train, forward 120\n")
    # One stray object in front of events is left out, as before.
    stray = json.dumps([{"note": "copied"}, {**_OP, "cat": "cpu_op"}])
    assert len(read_text(tmp_path, stray).ops) == 1


def test_what_torch_writes_without_kineto_is_named(tmp_path: Path) -> None:
    events = [
        {"name": "mm", "ph": "X", "ts": 101.5, "dur": 134.5, "tid": 1, "pid": "CPU functions", "args": {}},
        {"name": "mm", "ph": "s", "ts": 101.5, "tid": 1, "pid": "CPU functions", "id": 0, "cat": "cpu_to_cuda"},
        {"name": "mm", "ph": "X", "ts": 102.9, "dur": 134.1, "tid": 0, "pid": "CUDA functions", "args": {}},
    ]
    assert "torch.autograd.profiler without Kineto" in refused(tmp_path, json.dumps(events).encode())


def test_a_recording_that_was_cleared_before_the_export_is_torchs_own(tmp_path: Path) -> None:
    """What export_chrome_trace writes after a schedule's next cycle began: the profiler's span and instants, no more."""
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "x", "ts": 5, "dur": 187},
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 192},
    ]
    message = refused(tmp_path, json.dumps({"schemaVersion": 1, "traceEvents": events}).encode())
    assert "no event of the program" in message
    assert "not of torch" not in message


def test_the_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(gzip.compress(TEXT))

    size = len(Input.buffer.getvalue())
    monkeypatch.setattr(sys, "stdin", Input)
    trace = read(Path("-"))
    assert trace.meta.events == EVENTS
    assert trace.meta.name == "standard input"
    assert trace.meta.size_bytes == size


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EXPANSION_FREE_BYTES", 1 << 20)
    packed = gzip.compress(b'{"traceEvents":[' + b" " * (64 << 20))
    assert "expands to more than" in refused(tmp_path, packed)


@pytest.mark.parametrize(
    "content", [gzip.compress(TEXT)[:9], bz2.compress(TEXT)[:-500], b"\x1f\x8b\x08\x1f" + bytes(30)]
)
def test_what_cannot_be_unpacked_is_not_called_empty(tmp_path: Path, content: bytes) -> None:
    assert "nothing of t.json can be unpacked" in refused(tmp_path, content, "t.json")


def test_what_begins_with_much_of_nothing_is_not_empty(tmp_path: Path) -> None:
    assert repaired(read_text(tmp_path, b"\n" * 5_000_000 + TEXT)) == {}
    assert "a binary file" in refused(tmp_path, bytes(700_000) + TEXT, "t.json")


@pytest.mark.parametrize("second", [b"[]", b'[{"ph": "X", "ts": 5}]'])
def test_a_second_list_of_events_is_said(tmp_path: Path, second: bytes) -> None:
    text = TEXT.rstrip().removesuffix(b"}")
    trace = read_text(tmp_path, text + b', "traceEvents": ' + second + b"}")
    assert repaired(trace) == {"second-list": 1}
    assert "traceEvents" not in trace.meta.top
    assert trace.repairs[0].first_offset is not None
    assert "list of events twice" in refused(tmp_path, b'{"traceEvents": [], "traceEvents": [{}]}', "t.json")


def test_a_path_may_be_text(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(TEXT)
    assert read(str(path)).meta == read(path).meta
    assert [trace.meta for trace in read_every(str(path))] == [read(path).meta]
    with pytest.raises(UnreadableTraceError, match=r"cannot open nowhere\.json"):
        read("nowhere.json")


def test_what_goes_on_with_zero_bytes_is_not_said_to_be_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `/dev/zero` does, and a file whose room was kept and never written; a few of them are nothing at all."""
    monkeypatch.setattr(limits, "MAX_METADATA_BYTES", 1_000)
    assert "begins with 4,096 bytes of nothing" in refused(tmp_path, bytes(4_096), "t.json")
    assert "is empty" in refused(tmp_path, bytes(999), "t.json")
