"""Traces made wrong: events and their fields, the text they are written in, and what it is packed in.

Everything follows from the seed, so that a case is named by two numbers and comes again on every machine.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

Event = dict[str, Any]

# What no profiler writes, or one did: limits of types, other types, names that mean something elsewhere.
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e-9, 1e18, -1e18, 1e308, float("nan"), float("inf"), 2**31, 2**53 + 1,
    2**63 - 1, 2**63, -(2**63), 10**30, "", "0", "-1", "nan", "1e999", "stream 7", "thread 1", "\x00", "\ud800",
    "\x1b[31m", "[bold]", "<script>", "x" * 5_000, [], {}, [[]], [None], {"a": {"b": []}}, [1, "2", 3.0], "CUDA",
    "GPU 0", "aten::mm",
)  # fmt: skip
_KEYS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id", "bp", "s")
_ARGS = (
    "correlation", "External id", "external id", "stream", "device", "Input Dims", "Input type", "grid", "block",
    "bytes", "Device Id", "Total Allocated", "Total Reserved", "Python id", "Python parent id", "Ev Idx",
    "In split size", "Collective name", "Ended Early",
)  # fmt: skip
_NAMES = (
    "ProfilerStep#1", "ProfilerStep#99999999999999999999", "ProfilerStep#-1", "aten::item", "aten::random_",
    "aten::randperm", "aten::copy_", "cudaLaunchKernel", "cudaDeviceSynchronize", "cudaMemcpyAsync",
    "cudaGraphLaunch", "Memcpy HtoD (Pageable -> Device)", "[memory]", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
    "Optimizer.step#Adam.step", "nn.Module: Linear_0", "process_name", "thread_name",
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "Torch-Compiled Region: 0/0",
    "Iteration Start: PyTorch Profiler",
)  # fmt: skip
_CATEGORIES = (
    "cpu_op", "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "user_annotation",
    "gpu_user_annotation", "python_function", "cpu_instant_event", "overhead", "Trace", "ac2g", "fwdbwd", "Operator",
    "Kernel", "Runtime", "privateuse1_runtime", "xpu_runtime", "",
)  # fmt: skip
_TEXT = (
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\x00",
    b"\xff",
    b"NaN",
    b"-Infinity",
    b'"ph"',
    b"]}",
    b"}{",
    b"[" * 200,
    b"e99",
)


def mutated(seed: bytes, number: int) -> bytes:
    """A seed made wrong.

    Args:
        seed: A sound trace, or anything.
        number: Chooses what is done to it.
    """
    dice = random.Random(number)
    text = _in_events(seed, dice) if dice.random() < 0.8 else seed
    if dice.random() < 0.25:
        text = _in_text(text, dice)
    return _packed(text, dice) if dice.random() < 0.05 else text


def _in_events(text: bytes, dice: random.Random) -> bytes:
    try:
        document = json.loads(text)
    except ValueError:
        return _in_text(text, dice)
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        return _in_text(text, dice)
    for _ in range(dice.choice((1, 1, 2, 3, 8))):
        events = [event for event in document["traceEvents"] if isinstance(event, dict)]
        if not events:
            break
        document["traceEvents"] = dice.choice(_ON_EVENTS)(events, dice)
    if dice.random() < 0.15:
        key = dice.choice(
            (
                "schemaVersion",
                "deviceProperties",
                "distributedInfo",
                "baseTimeNanoseconds",
                "advisor",
                "with_stack",
                "x",
            )
        )
        document[key] = dice.choice(
            (*_VALUES, [{"id": 0, "numSms": 0}], {"rank": dice.choice(_VALUES), "world_size": 2})
        )
    # Unpaired halves of characters are written as escapes; infinities as torch once wrote them.
    return json.dumps(document).encode("ascii")


def _field(events: list[Event], dice: random.Random) -> list[Event]:
    dice.choice(events)[dice.choice(_KEYS)] = dice.choice(_VALUES)
    return events


def _argument(events: list[Event], dice: random.Random) -> list[Event]:
    args = dice.choice(events).setdefault("args", {})
    if isinstance(args, dict):
        args[dice.choice((*_ARGS, *map(str, args)))] = dice.choice(_VALUES)
    return events


def _argument_of_a_kind(events: list[Event], dice: random.Random) -> list[Event]:
    """One field of all events of a category: as a version that writes it otherwise."""
    category, key, value = dice.choice(events).get("cat"), dice.choice(_ARGS + _KEYS), dice.choice(_VALUES)
    for event in events:
        if event.get("cat") == category:
            place = event if key in _KEYS else event.setdefault("args", {})
            if isinstance(place, dict):
                place[key] = value
    return events


def _without(events: list[Event], dice: random.Random) -> list[Event]:
    event = dice.choice(events)
    place = event["args"] if dice.random() < 0.5 and isinstance(event.get("args"), dict) else event
    if place:
        del place[dice.choice(sorted(place))]
    return events


def _renamed(events: list[Event], dice: random.Random) -> list[Event]:
    one, name = dice.choice(events), dice.choice(_NAMES)
    for event in events if dice.random() < 0.3 else [one]:
        if event.get("name") == one.get("name"):
            event["name"] = name
    return events


def _recategorised(events: list[Event], dice: random.Random) -> list[Event]:
    one, category = dice.choice(events).get("cat"), dice.choice(_CATEGORIES)
    for event in events if dice.random() < 0.5 else [dice.choice(events)]:
        if event.get("cat") == one:
            event["cat"] = category
    return events


def _kept(events: list[Event], dice: random.Random) -> list[Event]:
    """Few events, or all but those of one name: what remains has nothing to refer to."""
    if dice.random() < 0.5:
        return dice.sample(events, min(len(events), dice.choice((1, 2, 3, 4, 5, 8, 20))))
    name = dice.choice(events).get("name")
    return [event for event in events if event.get("name") != name] or events


def _doubled(events: list[Event], dice: random.Random) -> list[Event]:
    some = dice.sample(events, min(len(events), dice.choice((1, 2, 10))))
    return events + [dict(event) for event in some] * dice.choice((1, 1, 2, 30))


def _moved(events: list[Event], dice: random.Random) -> list[Event]:
    by = dice.choice((-1, 1, -1e3, 1e6, 1e12, -1e12, 0.001, 1e15))
    one = dice.choice(events).get("cat")
    for event in events:
        if isinstance(event.get("ts"), int | float) and (event.get("cat") == one or dice.random() < 0.02):
            event["ts"] += by
    return events


def _stretched(events: list[Event], dice: random.Random) -> list[Event]:
    by, one = dice.choice((0, -1, 1e-6, 2, 1e3, 1e9)), dice.choice(events).get("name")
    for event in events:
        if isinstance(event.get("dur"), int | float) and event.get("name") == one:
            event["dur"] *= by
    return events


def _on_one_track(events: list[Event], dice: random.Random) -> list[Event]:
    key, value = dice.choice(("pid", "tid")), dice.choice((0, -1, 1, 7, "stream 7", 2**40, None))
    for event in events:
        event[key] = value
    return events


def _on_many_tracks(events: list[Event], dice: random.Random) -> list[Event]:
    key = dice.choice(("pid", "tid"))
    for number, event in enumerate(events):
        event[key] = number
        if key == "pid" and isinstance(event.get("args"), dict) and "device" in event["args"]:
            event["args"]["device"] = number
    return events


def _shuffled(events: list[Event], dice: random.Random) -> list[Event]:
    dice.shuffle(events)
    return events


def _swapped_times(events: list[Event], dice: random.Random) -> list[Event]:
    first, second = dice.choice(events), dice.choice(events)
    first["ts"], second["ts"] = second.get("ts"), first.get("ts")
    return events


_ON_EVENTS: Sequence[Callable[[list[Event], random.Random], list[Event]]] = (
    _field, _field, _argument, _argument, _argument_of_a_kind, _without, _renamed, _renamed, _recategorised, _kept,
    _kept, _doubled, _moved, _stretched, _on_one_track, _on_many_tracks, _shuffled, _swapped_times,
)  # fmt: skip


def _in_text(text: bytes, dice: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(5)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data[at:at] = dice.choice(_TEXT)
        elif kind == 2:
            del data[at : at + dice.choice((1, 2, 50, 2_000))]
        elif kind == 3:
            data[at:at] = data[max(0, at - dice.choice((10, 500, 5_000))) : at]
        elif data:
            data[at % len(data)] ^= 1 << dice.randrange(8)
    return bytes(data)


def _packed(text: bytes, dice: random.Random) -> bytes:
    packed = gzip.compress(text, 1, mtime=0)
    return packed if dice.random() < 0.3 else _in_text(packed, dice)
