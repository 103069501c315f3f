"""Packets to the events of a Chrome trace: slices of threads, work of devices, counters.

Times become microseconds since the base that kineto takes, so that both files of one recording say the same.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from traces.reader.perfetto.edges import Edges
from traces.reader.perfetto.interned import Interned, Referred, argument
from traces.reader.perfetto.tracks import Tracks

Json = dict[str, Any]
# kineto rounds the time of a trace down to a multiple of this.
_BASE_NS = 7_889_238 * 1_000_000_000
_BEGIN, _END, _INSTANT = 1, 2, 3
# `SEQ_INCREMENTAL_STATE_CLEARED`: what was named before counts no more.
_CLEARED = 1
# Clocks from here on belong to one sequence and may count from its last packet.
_OWN_CLOCKS = 64
_CATEGORY = {
    "Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset", "Annotation": "gpu_user_annotation",
    "EventRecord": "graph_event_node", "HostNode": "graph_host_node",
}  # fmt: skip
# Names of a device's values in a Perfetto file that differ from those in JSON.
_RENAMED = {"device id": "device", "stream id": "stream", "context id": "context"}


class UnknownClockError(Exception):
    """A packet's time is of a clock that only its sequence knows."""


class Events:
    """Makes events of packets; remembers what was named and which slices are open.

    Args:
        referred: Counts what packets refer to.
    """

    def __init__(self, referred: Referred) -> None:
        self.base_ns: int | None = None
        self.events = 0
        self.device_events = 0
        self._tracks = Tracks()
        self._interned: dict[int, Interned] = defaultdict(lambda: Interned(referred))
        self._open: dict[int, list[Json]] = defaultdict(list)
        self._counters: dict[int, dict[int, str]] = defaultdict(dict)
        self._edges = Edges()

    def of(self, packet: Any) -> Iterator[Json]:
        """The events that a packet completes.

        Args:
            packet: `perfetto.protos.TracePacket`.

        Raises:
            UnknownClockError: Its time cannot be told.
        """
        sequence = packet.trusted_packet_sequence_id
        if packet.incremental_state_cleared or packet.sequence_flags & _CLEARED:
            self._interned.pop(sequence, None)
        known = self._interned[sequence]
        if packet.HasField("interned_data"):
            known.add(packet.interned_data)
        if packet.HasField("trace_packet_defaults"):
            known.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        kind = packet.WhichOneof("data")
        if kind == "track_descriptor":
            yield from self._tracks.add(packet.track_descriptor)
        elif kind in ("track_event", "gpu_render_stage_event", "gpu_counter_event"):
            if packet.timestamp_clock_id >= _OWN_CLOCKS:
                raise UnknownClockError
            at = self._us(packet.timestamp)
            if kind == "track_event":
                yield from self._slice(packet.track_event, at, known)
            elif kind == "gpu_counter_event":
                yield from self._samples(packet.gpu_counter_event, at, known)
            else:
                self.device_events += 1
                work = _work(packet.gpu_render_stage_event, at, known)
                ended = self._us(packet.timestamp + packet.gpu_render_stage_event.duration)
                self._edges.add(packet.gpu_render_stage_event, work, ended)
                yield work

    def rest(self) -> Iterator[Json]:
        """The slices that have no end, in the order in which they began, and dependencies, whose ends may stand anywhere."""
        rest = [event for stack in self._open.values() for event in stack]
        yield from sorted(rest, key=lambda event: event["ts"])
        yield from self._edges.flows()

    def _us(self, stamp_ns: int) -> float:
        if self.base_ns is None:
            self.base_ns = stamp_ns // _BASE_NS * _BASE_NS
        return (stamp_ns - self.base_ns) / 1_000

    def _slice(self, event: Any, at: float, known: Interned) -> Iterator[Json]:
        identity = event.track_uuid if event.HasField("track_uuid") else known.track
        if event.type == _END:
            stack = self._open[identity]
            if stack:
                begun = stack.pop()
                # A difference of two such numbers may be off by less than a nanosecond.
                yield begun | {"dur": round(at - begun["ts"], 3)}
            return
        if event.type not in (_BEGIN, _INSTANT):
            return
        pid, tid = self._tracks.place(identity)
        args = {name: _spaced(value) for name, value in (argument(note, known) for note in event.debug_annotations)}
        begun = {"ph": "X", "name": known.name_of(event), "pid": pid, "tid": tid, "ts": at, "args": args}
        category = self._category(event, identity, args, known)
        if category:
            begun["cat"] = category
        if event.type == _BEGIN:
            self._open[identity].append(begun)
        else:
            yield begun | {"ph": "i", "s": "t"}

    def _category(self, event: Any, identity: int, args: Json, known: Interned) -> str:
        stated = [known.categories.get(iid, "") for iid in event.category_iids] + list(event.categories)
        if stated:
            return str(known.referred.take(stated[0]))
        # torch writes these two without.
        if "cuda_sync_kind" in args:
            return "cuda_sync"
        return "overhead" if self._tracks.named(identity, "Overhead") else ""

    def _samples(self, event: Any, at: float, known: Interned) -> Iterator[Json]:
        described = (
            known.counters.get(event.counter_descriptor_iid)
            if event.HasField("counter_descriptor_iid")
            else event.counter_descriptor
        )
        names = self._counters[event.gpu_id]
        for spec in described.specs if described is not None else ():
            names[spec.counter_id] = spec.name
        for one in event.counters:
            kind = one.WhichOneof("value")
            # Described once for all devices.
            name = names.get(one.counter_id) or self._counters[0].get(one.counter_id)
            if kind and name:
                value = getattr(one, kind)
                yield {
                    "ph": "C",
                    "name": known.referred.take(name),
                    "pid": f"GPU {event.gpu_id} Counters",
                    "ts": at,
                    "args": {"": value},
                }


def _spaced(value: Any) -> Any:
    """Lists with a space behind each comma, as kineto writes them: their text is what ops are told apart by."""
    return msgspec.Raw(json.dumps(value).encode()) if isinstance(value, list) else value


def _work(event: Any, at: float, known: Interned) -> Json:
    """A kernel, a copy or a range on a device's stream."""
    stage = known.referred.take(known.stages.get(event.stage_iid, ""))
    args: Json = {"device": event.gpu_id}
    for one in event.extra_data:
        args[_RENAMED.get(one.name, one.name)] = _number(one.value)
    if event.HasField("launch"):
        args["grid"] = _extent(event.launch.grid_size)
        args["block"] = _extent(event.launch.workgroup_size)
    return {
        "ph": "X", "cat": _CATEGORY.get(stage, stage), "name": known.name_of(event) or stage, "pid": event.gpu_id,
        "tid": args.get("stream", 0), "ts": at, "dur": event.duration / 1_000, "args": args,
    }  # fmt: skip


def _extent(size: Any) -> list[int]:
    # A dimension that is not stated is one.
    return [size.x or 1, size.y or 1, size.z or 1]


def _number(text: str) -> Any:
    """All such values are texts; whole numbers are numbers again."""
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 20 else text
