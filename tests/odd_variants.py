"""One sound trace in every odd way that files are found in: for the test of advisor and for the comparison in bench/odd.py.

Rows follow the catalogue of oddities; `same` says that a reader who knows the oddity finds the times of the sound trace.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from builders import AUTOGRAD, TraceBuilder

STEP = 10_000
STEPS = 5
LAUNCHES = 30
START = 1_700_000_000_000_000
CLOCK = '{"displayTimeUnit": "ns", "baseTimeNanoseconds": 17, "schema'
Event = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """One oddity.

    Args:
        row: Number of the oddity.
        name: What is odd, for the table.
        content: The file.
        same: Whether its times are those of the sound trace.
        file: Name of the file.
    """

    row: int
    name: str
    content: bytes
    same: bool = True
    file: str = "trace.json"


def base() -> TraceBuilder:
    """Steps of 10 ms: a loader, a copy, 30 launches with gaps, a backward pass on its own thread, an optimizer."""
    builder = TraceBuilder(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}})
    for number in range(STEPS):
        at = START + number * STEP
        builder.step(number + 5, at, STEP)
        builder.loader(at, 2_000)
        builder.copy("HtoD", at + 2_050, 60, start=at + 2_080, dur=90)
        for index in range(LAUNCHES):
            start = at + 2_200 + index * 200
            thread = AUTOGRAD if index > LAUNCHES // 2 else 4242
            builder.launch(start, kernel_start=start + 15, kernel_dur=120 + index, call_dur=10, thread=thread)
        builder.optimizer(at + 8_500, 1_000)
    return builder


def text(events: list[Event] | None = None) -> str:
    """The file as torch writes it, an event a line."""
    builder = base()
    listed = builder.events if events is None else events
    lines = ",\n".join(json.dumps(event) for event in listed)
    return json.dumps(builder.top)[:-1] + ',\n"traceEvents": [\n' + lines + "\n]}\n"


def changed(change: Callable[[list[Event]], object]) -> bytes:
    """The sound trace after a change of its events."""
    events = copy.deepcopy(base().events)
    change(events)
    return text(events).encode("utf-8", "surrogateescape")


def replaced(old: str, new: str, count: int = -1) -> bytes:
    """The sound trace after a change of its text."""
    whole = text()
    assert old in whole
    return whole.replace(old, new, count).encode("utf-8", "surrogateescape")


def kernels(events: list[Event]) -> list[Event]:
    return [event for event in events if event["cat"] == "kernel"]


def setting(key: str, value: Any, where: slice = slice(40, 41)) -> bytes:
    """Some kernels with another value; None takes the key away."""

    def change(events: list[Event]) -> None:
        for event in kernels(events)[where]:
            event[key] = value
            if value is None:
                del event[key]

    return changed(change)


def named(name: str) -> bytes:
    """An op of this name as it stands in the file, one amid the others."""
    return replaced('"aten::add"', f'"{name}"', 1)


def _absurd_starts(events: list[Event]) -> None:
    for event in kernels(events)[:3]:
        event["ts"] = 0


def _overlap(events: list[Event]) -> None:
    for event in kernels(events):
        event["dur"] = min(event["dur"] * 1.3, 190)


def _cross(events: list[Event]) -> None:
    events.append({**events[1], "cat": "cpu_op", "name": "aten::crossing", "ts": START + 1_500, "dur": 1_000})


def _halves(events: list[Event]) -> None:
    for event in [event for event in events if event["cat"] == "cpu_op"]:
        end = {**event, "ph": "E", "ts": event["ts"] + event.pop("dur")}
        event["ph"] = "B"
        events.append(end)


def _strings(events: list[Event]) -> None:
    for event in events:
        event["ts"], event["dur"] = str(event["ts"]), str(event["dur"])


def _string_threads(events: list[Event]) -> None:
    for event in kernels(events):
        event["tid"] = "stream 7"


def _large_ids(events: list[Event]) -> None:
    for event in events:
        if "correlation" in event.get("args", {}):
            event["args"]["correlation"] += 1 << 60


def _no_kernels(events: list[Event]) -> None:
    events[:] = [event for event in events if event["cat"] not in ("kernel", "gpu_memcpy")]


def _device_alone(events: list[Event]) -> None:
    events[:] = [event for event in events if event["cat"] in ("kernel", "gpu_memcpy")]


def _lost_steps(events: list[Event]) -> None:
    lost = kernels(events)[: LAUNCHES * 2 - 6]
    events[:] = [event for event in events if not any(event is one for one in lost)]


def _lost_half(events: list[Event]) -> None:
    dice = random.Random(3)
    events[:] = [event for event in events if event["cat"] != "kernel" or dice.random() < 0.35]


def _graphs(events: list[Event]) -> None:
    """All launches of a step become one graph launch."""
    graphs: dict[int, int] = {}
    kept = []
    for event in events:
        step = int((event["ts"] - START) // STEP)
        if event["name"] == "cudaLaunchKernel":
            if step in graphs:
                continue
            graphs[step] = event["args"]["correlation"]
            event["name"] = "cudaGraphLaunch"
        elif event["cat"] == "kernel":
            event["args"]["correlation"] = graphs[step]
        kept.append(event)
    events[:] = kept


def _under_recorded(events: list[Event]) -> None:
    _graphs(events)
    inside = [event for event in kernels(events) if START + 2 * STEP <= event["ts"] < START + 3 * STEP][3:]
    events[:] = [event for event in events if not any(event is one for one in inside)]


def _no_correlation(events: list[Event]) -> None:
    for event in kernels(events):
        event["args"]["correlation"] = 0


def _merge(events: list[Event], shift: int = 0) -> None:
    other = copy.deepcopy(events)
    for event in other:
        event["ts"] += 31
        if event["cat"] not in ("kernel", "gpu_memcpy"):
            event["pid"] += shift
    events += other


def _two_devices(events: list[Event]) -> None:
    for event in kernels(events)[1::2]:
        event["pid"] = event["args"]["device"] = 1


def _unmarked(events: list[Event]) -> None:
    events[:] = [event for event in events if not event["name"].startswith("ProfilerStep")]


def _marked_twice(events: list[Event]) -> None:
    marks = [event for event in events if event["name"].startswith("ProfilerStep")]
    events += [{**mark, "tid": 99, "ts": mark["ts"] + 5, "dur": 50} for mark in marks]
    events += [{**mark, "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "args": {"stream": 7}} for mark in marks]


def _spin(events: list[Event]) -> None:
    for number, event in enumerate(kernels(events)[LAUNCHES - 1 :: LAUNCHES]):
        event["name"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
        event["args"]["stream"] = event["tid"] = 9
        if number == 0:
            event["dur"] = 2_000_000
    for event in events:
        if event["ts"] >= START + STEP:
            event["ts"] += 2_000_000
        elif event["name"] == "ProfilerStep#5":
            event["dur"] += 2_000_000


def _syncs(events: list[Event]) -> None:
    for number in range(STEPS):
        at = START + number * STEP + 2_000
        for stream in (4294967295, -1):
            args = {"stream": stream, "device": 0, "cuda_sync_kind": "Context Synchronize"}
            events.append(
                {
                    "ph": "X",
                    "cat": "cuda_sync",
                    "name": "Context Sync",
                    "pid": 0,
                    "tid": stream,
                    "ts": at,
                    "dur": 6_000,
                    "args": args,
                }
            )


def _stream_zero(events: list[Event]) -> None:
    for event in kernels(events):
        event["tid"] = event["args"]["stream"] = 0


def _legacy(events: list[Event]) -> None:
    old = {
        "kernel": "Kernel",
        "cpu_op": "Operator",
        "cuda_runtime": "Runtime",
        "gpu_memcpy": "Memcpy",
        "user_annotation": "Operator",
    }
    for event in events:
        event["cat"] = old[event["cat"]]
        if "External id" in event.get("args", {}):
            event["args"]["external id"] = event["args"].pop("External id")


def _other_vendor(events: list[Event]) -> None:
    for event in events:
        event["cat"] = event["cat"].replace("cuda_runtime", "xpu_runtime")
        event["name"] = event["name"].replace("cudaLaunchKernel", "urEnqueueKernelLaunch")


def _stacks(events: list[Event]) -> None:
    for index in range(5_000):
        args = {"Python id": None, "Python parent id": "x"}
        at = START + index * 9.0
        events.append(
            {
                "ph": "X",
                "cat": "python_function",
                "name": f"f.py({index}): f",
                "pid": 4242,
                "tid": 4242,
                "ts": at,
                "dur": 4.5,
                "args": args,
            }
        )


def _unknown_phases(events: list[Event]) -> None:
    for phase in "CsftNODbeniIRPv?":
        events.append({**events[0], "ph": phase, "name": "odd", "id": 5, "args": {}})


def _sparse(events: list[Any]) -> None:
    for index, odd in enumerate((None, {}, "text", 5, [])):
        events.insert(20 + index, odd)
    events[30]["args"] = None


def _rounding(events: list[Event]) -> None:
    for event in events:
        if event["cat"] == "cuda_runtime":
            event["dur"] += 0.4


def _shuffle(events: list[Event]) -> None:
    random.Random(1).shuffle(events)


def _jax() -> bytes:
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:TPU:0"}}]
    events += [{"ph": "X", "name": "fusion.3", "pid": 1, "tid": 2, "ts": at, "dur": 6} for at in range(50)]
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": [*events, {}]}).encode()


def _tail_metadata() -> bytes:
    builder = base()
    return json.dumps({"traceEvents": builder.events, "unknown": [1, [2]], **builder.top}).encode()


def variants() -> list[Variant]:
    """Every oddity; the first is the sound trace."""
    return [Variant(0, "sound", text().encode()), *_containers(), *_texts(), *_values(), *_recordings()]


def _containers() -> list[Variant]:
    whole = text().encode()
    packed = gzip.compress(whole, mtime=0)
    wrong = packed[:-8] + bytes(byte ^ 0xFF for byte in packed[-8:-4]) + packed[-4:]
    third = len(whole) // 3
    return [
        Variant(9, "UTF-8 with byte order mark", b"\xef\xbb\xbf" + whole),
        Variant(9, "UTF-16", text().encode("utf-16")),
        Variant(10, "empty file", b"", same=False),
        Variant(10, "HTML error page", b"<!DOCTYPE html><html><body>404</body></html>", same=False),
        Variant(10, "Git LFS pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", same=False),
        Variant(10, "Perfetto protobuf", b"\x0a\x10\x12\x05\x00\x01\x08\x02" * 9, same=False, file="t.json"),
        Variant(11, "plain JSON named .gz", whole, file="trace.json.gz"),
        Variant(11, "gzip named .json", packed),
        Variant(12, "gzip cut at 60 %", packed[: len(packed) * 6 // 10], same=False, file="trace.json.gz"),
        Variant(12, "gzip with bytes behind it", packed + b"garbage", file="trace.json.gz"),
        Variant(12, "gzip with a wrong checksum", wrong, file="trace.json.gz"),
        Variant(13, "several gzip members", gzip.compress(whole[:third]) + gzip.compress(whole[third:]), file="trace.json.gz"),
        Variant(13, "two ranks, one document after the other", whole + whole.replace(b'"rank": 0', b'"rank": 1')),
        Variant(13, "two ranks written into each other", whole[:third] + whole[: 2 * third] + whole[third:], same=False),
    ]  # fmt: skip


def _texts() -> list[Variant]:
    whole = text()
    listed = json.dumps(base().events)
    return [
        Variant(1, "cut at 60 %", whole[: len(whole) * 6 // 10].encode(), same=False),
        Variant(2, "bare list", listed.encode()),
        Variant(3, "unclosed list with a comma", (listed[:-1] + ",").encode()),
        Variant(4, "NaN and Infinity in arguments", replaced('"bytes": 1048576', '"bytes": NaN, "bandwidth": Infinity')),
        Variant(5, "Windows paths, unescaped", named(r"C:\code\torch\nn\functional.py(3): relu")),
        Variant(6, "raw control characters", named("a\x01b\nc")),
        Variant(7, "unescaped quote", named('operator"" _x')),
        Variant(8, "invalid UTF-8", named("caf\udce9")),
        Variant(29, "doubled keys", replaced('"cat": "kernel"', '"cat": "kernel", "cat": "kernel"')),
        Variant(31, "metadata behind the events", _tail_metadata()),
        Variant(32, "very long and binary-looking names", named("\\u0000<script>[red]" + "x" * 50_000)),
        Variant(50, "terminal escapes in names", named("\\u001b[31m\\u001b]0;title\\u0007")),
        Variant(50, "10,000 nested lists in an argument", named('a", "x": ' + "[" * 10_000 + "]" * 10_000 + ', "y": "')),
    ]  # fmt: skip


def _values() -> list[Variant]:
    return [
        Variant(14, "negative duration", setting("dur", -5)),
        Variant(14, "duration -1 (unfinished)", setting("dur", -1)),
        Variant(15, "duration 0", setting("dur", 0), same=False),
        Variant(16, "one duration of 1e12 us", setting("dur", 1e12)),
        Variant(17, "three starts at 0", changed(_absurd_starts)),
        Variant(18, "kernels overlap on one stream", changed(_overlap), same=False),
        Variant(19, "spans that cross on one thread", changed(_cross)),
        Variant(20, "children end after their parents", changed(_rounding)),
        Variant(21, "displayTimeUnit and base time", replaced('{"schema', CLOCK, 1)),
        Variant(22, "times as text", changed(_strings)),
        Variant(23, "streams as text", changed(_string_threads)),
        Variant(24, "ids beyond 2^53", changed(_large_ids)),
        Variant(25, "no phase", setting("ph", None)),
        Variant(26, "no duration", setting("dur", None)),
        Variant(27, "halves (B, E) for spans", changed(_halves)),
        Variant(28, "null, {} and text for events", changed(_sparse)),
        Variant(30, "unsorted", changed(_shuffle)),
        Variant(44, "stream 0, and syncs on stream 4294967295", changed(lambda events: (_stream_zero(events), _syncs(events)))),
        Variant(45, "another vendor's runtime calls", changed(_other_vendor)),
        Variant(46, "categories of torch 1.8", changed(_legacy)),
        Variant(48, "Python stacks with broken ids", changed(_stacks)),
        Variant(49, "phases nobody knows", changed(_unknown_phases)),
    ]  # fmt: skip


def _recordings() -> list[Variant]:
    return [
        Variant(33, "no device events", changed(_no_kernels), same=False),
        Variant(34, "device events only", changed(_device_alone), same=False),
        Variant(35, "kernels of the first steps lost", changed(_lost_steps), same=False),
        Variant(35, "65 % of all kernels lost", changed(_lost_half), same=False),
        Variant(36, "graphs: one launch for many kernels", changed(_graphs), same=True),
        Variant(36, "a graph replay recorded in part", changed(_under_recorded), same=False),
        Variant(37, "correlation 0 everywhere", changed(_no_correlation), same=True),
        Variant(38, "two ranks merged, other process numbers", changed(lambda events: _merge(events, 1)), same=False),
        Variant(38, "two ranks merged, equal numbers", changed(_merge), same=False),
        Variant(39, "two devices in one process", changed(_two_devices), same=False),
        Variant(40, "no step marks", changed(_unmarked), same=False),
        Variant(41, "steps marked twice", changed(_marked_twice)),
        Variant(42, "first collective waits 2 s", changed(_spin), same=False),
        Variant(43, "no rank stated", text().replace('"distributedInfo"', '"other"').encode()),
        Variant(47, "trace of JAX", _jax(), same=False),
    ]
