"""Perfetto files as torch 2.15 writes them, built with the same protobuf module: the same document as a JSON of the same events."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analyzer.explain import analyse
from building.builders import TraceBuilder
from programs.graphs import replays
from traces.errors import UnreadableTraceError
from traces.reader.perfetto.as_json import as_json
from traces.reader.perfetto.packets import begins, packets
from traces.reader.read import read

pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

# A base that kineto would take, and a moment after it.
BASE_NS = 7_889_238 * 1_000_000_000 * 225
STAGES = {"kernel": (1, "Kernel"), "gpu_memcpy": (2, "Memcpy"), "gpu_memset": (3, "Memset")}


class Writer:
    """Writes events of a Chrome trace as packets, as `torch/profiler/_cuspy/trace.py` says that it does."""

    def __init__(self) -> None:
        self.packets: list[Any] = []
        self._names: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._tracks: dict[tuple[Any, Any], int] = {}
        self._counters: dict[str, int] = {}
        # Work of graphs by device, stream and end, and which awaits which: flows in a Chrome trace.
        self._ends: dict[tuple[Any, ...], Any] = {}
        self._begins: dict[tuple[Any, ...], Any] = {}
        self._left: dict[int, Any] = {}
        first = self._packet()
        first.sequence_flags = 1
        for number, name in STAGES.values():
            first.interned_data.gpu_specifications.add(iid=number, name=name)

    def _packet(self) -> Any:
        packet = pb.TracePacket()
        packet.trusted_packet_sequence_id = 1
        self.packets.append(packet)
        return packet

    def _intern(self, table: dict[str, int], entries: Any, name: str) -> int:
        if name not in table:
            table[name] = len(table) + 1
            entries.add(iid=table[name], name=name)
        return table[name]

    def event(self, event: dict[str, Any]) -> None:
        """One event, at its place in the order of the file."""
        if event["ph"] == "C":
            self._sample(event)
        elif event["ph"] in ("s", "f"):
            self._edge(event)
        elif event.get("cat") in STAGES:
            self._work(event)
        else:
            self._slice(event)

    def _track(self, pid: Any, tid: Any) -> int:
        if (pid, tid) not in self._tracks:
            if (pid, None) not in self._tracks:
                self._tracks[pid, None] = len(self._tracks) + 1
                process = self._packet().track_descriptor
                process.uuid = self._tracks[pid, None]
                process.process.pid = pid
                process.process.process_name = "python"
            self._tracks[pid, tid] = len(self._tracks) + 1
            thread = self._packet().track_descriptor
            thread.uuid, thread.parent_uuid = self._tracks[pid, tid], self._tracks[pid, None]
            thread.thread.pid, thread.thread.tid = pid, tid
        return self._tracks[pid, tid]

    def _slice(self, event: dict[str, Any]) -> None:
        track = self._track(event["pid"], event["tid"])
        begin = self._packet()
        begin.timestamp = _ns(event["ts"])
        begin.track_event.type = 1
        begin.track_event.track_uuid = track
        begin.track_event.name_iid = self._intern(self._names, begin.interned_data.event_names, event["name"])
        category = self._intern(self._categories, begin.interned_data.event_categories, event["cat"])
        begin.track_event.category_iids.append(category)
        for key, value in event.get("args", {}).items():
            _annotate(begin.track_event.debug_annotations.add(), key, value)
        end = self._packet()
        end.timestamp = _ns(event["ts"]) + round(event["dur"] * 1_000)
        end.track_event.type = 2
        end.track_event.track_uuid = track

    def _work(self, event: dict[str, Any]) -> None:
        packet, args = self._packet(), dict(event["args"])
        packet.timestamp = _ns(event["ts"])
        work = packet.gpu_render_stage_event
        work.duration, work.gpu_id = round(event["dur"] * 1_000), event["pid"]
        work.stage_iid = STAGES[event["cat"]][0]
        work.name_iid = self._intern(self._names, packet.interned_data.event_names, event["name"])
        grid, block = args.pop("grid", None), args.pop("block", None)
        if grid:
            work.launch.grid_size.x, work.launch.grid_size.y, work.launch.grid_size.z = grid
            work.launch.workgroup_size.x, work.launch.workgroup_size.y, work.launch.workgroup_size.z = block
        for key, value in args.items():
            renamed = {"device": "device id", "stream": "stream id"}.get(key, key)
            work.extra_data.add(name=renamed, value=str(value))

        pid, tid = event["pid"], event["tid"]
        work.event_id = len(self._ends) + 1
        self._begins[pid, tid, packet.timestamp] = work
        self._ends[pid, tid, packet.timestamp + work.duration] = work

    def _edge(self, event: dict[str, Any]) -> None:
        """Such a file has no flows: work names the work that it waits for."""
        at = (event["pid"], event["tid"], _ns(event["ts"]))
        if event["ph"] == "s":
            self._left[event["id"]] = self._ends[at]
        else:
            self._begins[at].event_wait_ids.append(self._left[event["id"]].event_id)

    def _sample(self, event: dict[str, Any]) -> None:
        packet = self._packet()
        packet.timestamp = _ns(event["ts"])
        if event["name"] not in self._counters:
            self._counters[event["name"]] = len(self._counters)
            packet.gpu_counter_event.counter_descriptor.specs.add(
                counter_id=self._counters[event["name"]], name=event["name"]
            )
        packet.gpu_counter_event.gpu_id = int(event["pid"].split()[1])
        packet.gpu_counter_event.counters.add(counter_id=self._counters[event["name"]], double_value=event["args"][""])

    def bytes(self) -> bytes:
        """The file."""
        return b"".join(pb.Trace(packet=[packet]).SerializeToString() for packet in self.packets)


def _ns(us: float) -> int:
    return BASE_NS + round(us * 1_000)


def _annotate(note: Any, key: str | None, value: Any) -> None:
    if key is not None:
        note.name = key
    if isinstance(value, dict):
        for name, one in value.items():
            _annotate(note.dict_entries.add(), name, one)
    elif isinstance(value, list):
        for one in value:
            _annotate(note.array_values.add(), None, one)
    elif isinstance(value, bool):
        note.bool_value = value
    elif isinstance(value, int):
        note.int_value = value
    elif isinstance(value, float):
        note.double_value = value
    else:
        note.string_value = value


def world(*, device: bool = True, clocks: bool = True, locked: bool = False) -> TraceBuilder:
    """Three steps of 1 ms: an op with shapes and its kernel, a copy, a collective, a clock that falls.

    Args:
        device: Whether its work was recorded.
        clocks: Whether counters were.
        locked: Whether metrics were among them whose recording locks the clock.
    """
    builder = TraceBuilder()
    builder.top = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS}
    for number in range(3):
        at = 1_000_000 + number * 1_000.125
        builder.step(number, at, 1_000)
        builder.loader(at + 1, 200.25)
        builder.op(
            "aten::mm", at + 300, 50, **{"Input Dims": [[64, 32], [32, 16], []], "Input type": ["float", "float", ""]}
        )
        if device:
            builder.launch(
                at + 310, kernel_start=at + 400, kernel_dur=300.5, op=None, grid=[8, 1, 1], block=[128, 1, 1]
            )
            builder.copy("HtoD", at + 210, 8, start=at + 230, dur=40)
            builder.kernel(
                "ncclDevKernel_AllReduce_Sum_f32", at + 710, 100, stream=9, **{"Collective name": "allreduce"}
            )
        if clocks:
            builder.counter("SM Clock (MHz)", at + 450, 1_320.0 if locked else 1_980.0 - 300 * number)
        if locked:
            builder.counter("SM Active (%)", at + 450, 71.5 + number)
            builder.counter("DRAM BW (%)", at + 460, 40.0)
    return builder


def packed(builder: TraceBuilder) -> bytes:
    writer = Writer()
    for event in builder.events:
        writer.event(event)
    return writer.bytes()


@pytest.mark.parametrize(("clocks", "locked"), [(True, False), (True, True), (False, False)])
@pytest.mark.parametrize("device", [True, False])
def test_the_document_is_that_of_the_same_events_as_json(
    device: bool, clocks: bool, locked: bool, tmp_path: Path
) -> None:
    builder = world(device=device, clocks=clocks, locked=locked)
    sampled = [event for event in builder.events if event["ph"] == "C"]
    assert all(event["pid"] == "GPU 0 Counters" and set(event["args"]) == {""} for event in sampled)
    plain, native = tmp_path / "trace.json", tmp_path / "trace.pftrace"
    plain.write_text(json.dumps(builder.document()))
    native.write_bytes(packed(builder))
    first, second = analyse(plain), analyse(native)
    assert msgspec.to_builtins(_nameless(first)) == msgspec.to_builtins(_nameless(second))
    assert second.hardware is not None
    told = {one.name: (one.min, one.max) for one in second.hardware.counters}
    wanted = {"SM Clock": (1_320.0, 1_320.0), "SM Active": (71.5, 73.5), "DRAM BW": (40.0, 40.0)}
    falling = {"SM Clock": (1_380.0, 1_980.0)} if clocks else {}
    assert told == ((wanted if locked else falling) if device else {})
    assert any("Perfetto file" in note for note in second.trace.notes)
    assert any("no track of a device's work" in note for note in second.trace.notes) is not device


def _nameless(analysis: Any) -> Any:
    trace = msgspec.structs.replace(analysis.trace, name="", sha256="", bytes=0, events=0, notes=())
    return msgspec.structs.replace(analysis, trace=trace)


def test_dependencies_of_graphs_are_those_of_the_same_events_as_json(tmp_path: Path) -> None:
    builder = replays()
    builder.top = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS}
    plain, native = tmp_path / "trace.json", tmp_path / "trace.pftrace"
    plain.write_text(json.dumps(builder.document()))
    native.write_bytes(packed(builder))
    first, second = (read(path).graph_edges for path in (plain, native))
    assert len(first) == 2 * 4 * 4
    for frame in (first, second):
        assert frame["edge"].nunique() == 16
    columns = ["arrives", "device", "stream", "start_ns"]
    rows = [frame[columns].sort_values(columns).to_numpy().tolist() for frame in (first, second)]
    assert rows[0] == rows[1]


def test_a_compressed_file_says_the_same(tmp_path: Path) -> None:
    data = packed(world())
    plain, zipped = tmp_path / "a.pftrace", tmp_path / "a.pftrace.gz"
    plain.write_bytes(data)
    zipped.write_bytes(gzip.compress(data))
    first, second = read(plain), read(zipped)
    assert first.kernels.equals(second.kernels)
    assert first.counters["value"].tolist() == [1_980.0, 1_680.0, 1_380.0]


def test_times_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(packed(world()))
    trace = read(path)
    assert trace.meta.origin_ns + (trace.meta.base_ns or 0) == BASE_NS + 1_000_000_000
    assert trace.steps["start_ns"].tolist() == [0, 1_000_125, 2_000_250]
    assert trace.kernels["dur_ns"].max() == 300_500


@pytest.mark.parametrize("kept", [0.4, 0.7, 0.95])
def test_a_cut_file_gives_its_complete_packets(kept: float, tmp_path: Path) -> None:
    data = packed(world())
    path = tmp_path / "cut.pftrace"
    path.write_bytes(data[: int(len(data) * kept)])
    trace = read(path)
    whole = tmp_path / "whole.pftrace"
    whole.write_bytes(data)
    assert [repair.kind for repair in trace.repairs if repair.kind == "truncated"]
    assert 0 < len(trace.ops) + len(trace.kernels) < len(read(whole).ops) + len(read(whole).kernels)
    assert set(trace.kernels["name"]) <= set(read(whole).kernels["name"])


@pytest.mark.parametrize(
    "data", [b"\x0a\x10\x12\x05\x00\x01\x08\x02", b"\x0a\x02\x50\x01", b"\x0a\x03\xff\xff\x01\x0a\x00"]
)
def test_what_holds_no_events_is_refused_in_words(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.pftrace"
    path.write_bytes(data)
    with pytest.raises(UnreadableTraceError, match="Perfetto"):
        read(path)


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.pftrace"
    path.write_bytes(packed(world()))
    monkeypatch.setitem(sys.modules, "perfetto.protos.perfetto.trace.perfetto_trace_pb2", None)
    with pytest.raises(UnreadableTraceError) as caught:
        read(path)
    assert "pip install perfetto," in str(caught.value)


@pytest.mark.parametrize("text", [b'\n{"traceEvents": []}', b"\n[\n{}]", b"\n\n\n", b"", b"\x0a\x00\x00"])
def test_text_is_no_packet(text: bytes) -> None:
    assert not begins(text)


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_packets_do_not_depend_on_how_the_bytes_come(size: int) -> None:
    data = packed(world())
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    assert list(packets(blocks)) == list(packets([data]))
    assert None not in list(packets(blocks))
    assert list(packets([data[:-1]]))[-1] is None


def _naming(text: str, events: int, refer: Any) -> bytes:
    """A file that names a text once, and events that refer to it."""
    writer = Writer()
    first = writer.packets[0].interned_data
    first.event_names.add(iid=99, name=text)
    first.event_categories.add(iid=99, name=text)
    first.debug_annotation_names.add(iid=99, name=text)
    first.debug_annotation_string_values.add(iid=99, str=text.encode())
    for number in range(events):
        writer.event({"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": number * 10.0, "dur": 5.0})
        refer(writer.packets[-2].track_event)
    return writer.bytes()


def _by_name(event: Any) -> None:
    event.name_iid = 99


def _by_category(event: Any) -> None:
    event.category_iids[0] = 99


def _by_value(event: Any) -> None:
    event.debug_annotations.add(name="a", string_value_iid=99)


def _by_key(event: Any) -> None:
    event.debug_annotations.add(name_iid=99, int_value=1)


@pytest.mark.parametrize("refer", [_by_name, _by_category, _by_value, _by_key])
def test_a_text_that_is_referred_to_without_end_is_refused(
    refer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traces.reader.limits.WRITTEN_OUT_FREE_CHARS", 1 << 20, raising=False)
    path = tmp_path / "bomb.pftrace"
    path.write_bytes(_naming("n" * 60_000, 300, refer))
    with pytest.raises(UnreadableTraceError, match="times what it holds"):
        read(path)
    events = list(as_json("t", [_naming("n" * 200, 2_000, refer)], []))
    assert b"".join(events).count(b"n" * 200) == 2_000


def test_a_value_that_nests_without_end_is_text(tmp_path: Path) -> None:
    path = tmp_path / "deep.pftrace"
    path.write_bytes(
        _naming("a", 2, lambda event: event.debug_annotations.add(name="a", legacy_json_value="[" * 200_000))
    )
    assert len(read(path).ops) == 2


def test_few_long_events_are_given_out_soon() -> None:
    data = packed(world())
    events = list(as_json("t", [_naming("n" * 1_000_000, 30, _by_name)], []))
    assert max(map(len, events)) < 6_000_000
    assert json.loads(b"".join(as_json("t", [data], [])))["traceEvents"]
