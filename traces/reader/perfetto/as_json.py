"""A Perfetto file as the text of the Chrome trace of the same events, which the one decoder reads as any other."""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterable, Iterator
from typing import Any

import msgspec

from traces.errors import UnreadableTraceError
from traces.reader.perfetto.events import Events, UnknownClockError
from traces.reader.perfetto.interned import Referred
from traces.reader.perfetto.packets import packets

_PROTOS = "perfetto.protos.perfetto.trace.perfetto_trace_pb2"
# Events, or their bytes, joined before they are given out.
_TOGETHER = 2_000
_TOGETHER_BYTES = 4 << 20


def as_json(name: str, blocks: Iterable[bytes], notes: list[str]) -> Iterator[bytes]:
    """The text. Of a file that ends early it ends behind the last complete packet, without its closing brackets.

    Args:
        name: File name, for messages.
        blocks: The file's bytes, uncompressed.
        notes: Where it is said what the file lacks.

    Raises:
        UnreadableTraceError: The package that knows the format is not installed, its times cannot be told, or it holds no events.
    """
    protos = _protos(name)
    referred = Referred(name)
    made = Events(referred)
    notes.append("read from a Perfetto file: bytes and events are counted in the Chrome trace that says the same")
    yield b'{"schemaVersion":1,"traceEvents":['
    whole = yield from _events(name, _counted(blocks, referred), protos, made)
    if not made.events:
        raise UnreadableTraceError(
            f"{name} is a Perfetto protobuf trace without " + ("events of a program" if whole else "a complete packet"),
            why="it was cut, or records something else than a program in Python",
            fix="copy it again, as binary, or open it at https://ui.perfetto.dev",
        )
    if not made.device_events:
        notes.append("the Perfetto file has no track of a device's work (GPU render stages)")
    if whole:
        yield b'],"baseTimeNanoseconds":%d}' % (made.base_ns or 0)


def _events(name: str, blocks: Iterable[bytes], protos: Any, made: Events) -> Generator[bytes, None, bool]:
    """The events, separated by commas; returns whether the file is whole."""
    pending: list[bytes] = []
    size = 0
    separator = b""
    whole = True
    for packet in packets(blocks):
        if packet is None:
            whole = False
            break
        for event in _of_packet(name, packet, protos, made):
            made.events += event["ph"] != "M"
            pending.append(msgspec.json.encode(event))
            size += len(pending[-1])
        if len(pending) >= _TOGETHER or size >= _TOGETHER_BYTES:
            yield separator + b",".join(pending)
            pending, separator, size = [], b",", 0
    if whole:
        pending += [msgspec.json.encode(event) for event in made.rest()]
    if pending:
        yield separator + b",".join(pending)
    return whole


def _counted(blocks: Iterable[bytes], referred: Referred) -> Iterator[bytes]:
    for block in blocks:
        referred.read_bytes += len(block)
        yield block


def _of_packet(name: str, packet: bytes, protos: Any, made: Events) -> Iterator[dict[str, Any]]:
    message = protos.TracePacket()
    try:
        message.ParseFromString(packet)
        yield from made.of(message)
    except _decode_error() as error:
        raise UnreadableTraceError(
            f"{name} holds a packet that is none of Perfetto's", why=str(error), fix="copy the file again, as binary"
        ) from error
    except UnknownClockError as error:
        raise UnreadableTraceError(
            f"{name} counts time by clocks of its own",
            why="torch writes the time of each packet; this file is another program's",
            fix="open it at https://ui.perfetto.dev",
        ) from error


def _decode_error() -> type[Exception]:
    found: type[Exception] = importlib.import_module("google.protobuf.message").DecodeError
    return found


def _protos(name: str) -> Any:
    try:
        return importlib.import_module(_PROTOS)
    except ImportError as error:
        raise UnreadableTraceError(
            f"{name} is a Perfetto protobuf trace",
            why="the package that knows this format is not installed",
            fix="pip install perfetto, or export the trace as .json; https://ui.perfetto.dev shows it as it is",
        ) from error
