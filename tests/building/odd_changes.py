"""A sound trace of a training loop, and what writers and recordings have done to such files."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from building.builders import AUTOGRAD, TraceBuilder

STEP = 10_000
STEPS = 5
LAUNCHES = 30
START = 1_700_000_000_000_000
Event = dict[str, Any]


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


def absurd_starts(events: list[Event]) -> None:
    for event in kernels(events)[:3]:
        event["ts"] = 0


def overlap(events: list[Event]) -> None:
    """Each kernel still runs for 20 to 48 us when the next one of its stream begins."""
    for event in kernels(events):
        event["dur"] += 100


def cross(events: list[Event]) -> None:
    events.append({**events[1], "cat": "cpu_op", "name": "aten::crossing", "ts": START + 1_500, "dur": 1_000})


def halves(events: list[Event]) -> None:
    for event in [event for event in events if event["cat"] == "cpu_op"]:
        end = {**event, "ph": "E", "ts": event["ts"] + event.pop("dur")}
        event["ph"] = "B"
        events.append(end)


def strings(events: list[Event]) -> None:
    for event in events:
        event["ts"], event["dur"] = str(event["ts"]), str(event["dur"])


def string_threads(events: list[Event]) -> None:
    for event in kernels(events):
        event["tid"] = "stream 7"


def large_ids(events: list[Event]) -> None:
    for event in events:
        if "correlation" in event.get("args", {}):
            event["args"]["correlation"] += 1 << 60


def no_kernels(events: list[Event]) -> None:
    events[:] = [event for event in events if event["cat"] not in ("kernel", "gpu_memcpy")]


def device_alone(events: list[Event]) -> None:
    events[:] = [event for event in events if event["cat"] in ("kernel", "gpu_memcpy")]


def lost_steps(events: list[Event]) -> None:
    lost = kernels(events)[: LAUNCHES * 2 - 6]
    events[:] = [event for event in events if not any(event is one for one in lost)]


def lost_half(events: list[Event]) -> None:
    dice = random.Random(3)
    events[:] = [event for event in events if event["cat"] != "kernel" or dice.random() < 0.35]


def graphs(events: list[Event]) -> None:
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


def under_recorded(events: list[Event]) -> None:
    graphs(events)
    inside = [event for event in kernels(events) if START + 2 * STEP <= event["ts"] < START + 3 * STEP][3:]
    events[:] = [event for event in events if not any(event is one for one in inside)]


def no_correlation(events: list[Event]) -> None:
    for event in kernels(events):
        event["args"]["correlation"] = 0


def merge(events: list[Event], shift: int = 0) -> None:
    other = copy.deepcopy(events)
    for event in other:
        event["ts"] += 31
        if event["cat"] not in ("kernel", "gpu_memcpy"):
            event["pid"] += shift
    events += other


def twice(events: list[Event]) -> None:
    events += copy.deepcopy(events)


def merge_hosts(events: list[Event]) -> None:
    """Two ranks without a device: ops of 150 us every 200 us, the other rank's 80 us later."""
    events[:] = [event for event in events if event["cat"] in ("cpu_op", "user_annotation")]
    for event in events:
        event["dur"] = 150 if event["cat"] == "cpu_op" else event["dur"]
    other = copy.deepcopy(events)
    for event in other:
        event["ts"] += 80
    events += other


def two_devices(events: list[Event]) -> None:
    for event in kernels(events)[1::2]:
        event["pid"] = event["args"]["device"] = 1


def unmarked(events: list[Event]) -> None:
    events[:] = [event for event in events if not event["name"].startswith("ProfilerStep")]


def marked_twice(events: list[Event]) -> None:
    marks = [event for event in events if event["name"].startswith("ProfilerStep")]
    events += [{**mark, "tid": 99, "ts": mark["ts"] + 5, "dur": 50} for mark in marks]
    events += [{**mark, "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "args": {"stream": 7}} for mark in marks]


def spin(events: list[Event]) -> None:
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


def syncs(events: list[Event]) -> None:
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


def stream_zero(events: list[Event]) -> None:
    for event in kernels(events):
        event["tid"] = event["args"]["stream"] = 0


def legacy(events: list[Event]) -> None:
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


def other_vendor(events: list[Event]) -> None:
    for event in events:
        event["cat"] = event["cat"].replace("cuda_runtime", "xpu_runtime")
        event["name"] = event["name"].replace("cudaLaunchKernel", "urEnqueueKernelLaunch")


def stacks(events: list[Event]) -> None:
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


def unknown_phases(events: list[Event]) -> None:
    for phase in "CsftNODbeniIRPv?":
        events.append({**events[0], "ph": phase, "name": "odd", "id": 5, "args": {}})


def sparse(events: list[Any]) -> None:
    for index, odd in enumerate((None, {}, "text", 5, [])):
        events.insert(20 + index, odd)
    events[30]["args"] = None


def rounding(events: list[Event]) -> None:
    for event in events:
        if event["cat"] == "cuda_runtime":
            event["dur"] += 0.4


def shuffle(events: list[Event]) -> None:
    random.Random(1).shuffle(events)


def jax() -> bytes:
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:TPU:0"}}]
    events += [{"ph": "X", "name": "fusion.3", "pid": 1, "tid": 2, "ts": at, "dur": 6} for at in range(50)]
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": [*events, {}]}).encode()


def tail_metadata() -> bytes:
    builder = base()
    return json.dumps({"traceEvents": builder.events, "unknown": [1, [2]], **builder.top}).encode()
