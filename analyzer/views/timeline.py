"""One step drawn: what the step's thread and each device do, as few labelled spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pandas as pd

from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any, matching
from traces.patterns import Pattern
from traces.reader.names.autograd import BACKWARD_NODE

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Spans of one label closer than this share of the step are drawn as one: nobody sees the gap.
_MERGE_RATIO = 0.002
MAX_SPANS = 400
# A step this much longer than the median is slow.
_SLOW = 1.1
_BACKWARD = Pattern(rf"{BACKWARD_NODE}|torch::autograd::|\w+Backward\d*$")


class LaneSpan(msgspec.Struct, frozen=True):
    """A drawn span, times relative to the step's start; `busy_ns` is what of it the lane works, without the gaps merged away."""

    start_ns: int
    end_ns: int
    label: str
    cause: str
    busy_ns: int


class DrawnLane(msgspec.Struct, frozen=True):
    """A row of the drawing; `kind` is host or device."""

    name: str
    kind: str
    spans: tuple[LaneSpan, ...]


class DrawnStep(msgspec.Struct, frozen=True):
    """The step that is drawn: its ProfilerStep number and its extent in nanoseconds."""

    number: int
    start_ns: int
    end_ns: int


def representative_step(facts: Facts) -> DrawnStep | None:
    """The used step nearest to the median duration (the earliest of equals)."""
    used = facts.steps.used
    if not len(used):
        return None
    durations = used["dur_ns"].to_numpy()
    return _drawn(used, int(np.argmin(np.abs(durations - np.median(durations)))))


def slowest_step(facts: Facts) -> DrawnStep | None:
    """The slowest used step; None where it is no more than a tenth longer than the median, and tells nothing new."""
    durations = facts.steps.used["dur_ns"].to_numpy()
    if not len(durations) or durations.max() <= np.median(durations) * _SLOW:
        return None
    return _drawn(facts.steps.used, int(np.argmax(durations)))


def _drawn(used: pd.DataFrame, row: int) -> DrawnStep:
    return DrawnStep(
        number=int(used["number"].to_numpy()[row]),
        start_ns=int(used["start_ns"].to_numpy()[row]),
        end_ns=int(used["end_ns"].to_numpy()[row]),
    )


def lanes(facts: Facts, start_ns: int, end_ns: int) -> tuple[DrawnLane, ...]:
    """The lanes of one step.

    Args:
        facts: The measurements.
        start_ns: Start of the step.
        end_ns: Its end.
    """
    backward = _backward(facts)
    drawn = [_host_lane(facts, backward, start_ns, end_ns)] if facts.host.main_thread is not None else []
    drawn += [_device_lane(facts, index, backward, start_ns, end_ns) for index in range(min(len(facts.device.all), 8))]
    return tuple(drawn)


def _host_lane(facts: Facts, backward: IntervalSet, start_ns: int, end_ns: int) -> DrawnLane:
    host, main = facts.host.threads, facts.host.main_thread
    assert main is not None
    blocking = host.during("blocking", main)
    optimizer = facts.trace.annotations
    zeroing = IntervalSet.of_rows(optimizer, is_any(optimizer["kind"], "zero_grad"))
    layers = [
        ("gc", "python", host.during("gc", main)),
        ("next(loader)", "input", host.during("input", main)),
        ("zero_grad", "optimizer", zeroing),
        ("optimizer", "optimizer", host.during("optimizer", main)),
        ("wait", "sync", blocking),
        ("copy in", "transfer_call", host.during("transfer_call", main)),
        ("backward", "framework", backward),
        ("compile", "compile", host.during("compile", main)),
        ("collective", "communication", host.during("collectives", main)),
        ("forward", "framework", host.during("ops", main) | host.during("calls", main)),
    ]
    return DrawnLane("CPU", "host", _draw(layers, start_ns, end_ns))


def _device_lane(facts: Facts, index: int, backward: IntervalSet, start_ns: int, end_ns: int) -> DrawnLane:
    device = facts.device.all[index]
    phases = _kernel_phases(facts, device.device, backward)
    layers = [
        ("bwd", "compute", phases["bwd"] - phases["fwd"]),
        ("opt", "compute", phases["opt"] - phases["fwd"]),
        ("fwd", "compute", phases["fwd"]),
        ("run", "compute", device.compute),
        ("comm", "communication", device.collective),
        ("copy", "copy", device.copy),
    ]
    name = "GPU" if len(facts.device.all) == 1 else f"GPU {device.device}"
    return DrawnLane(name, "device", _draw(layers, start_ns, end_ns))


def _backward(facts: Facts) -> IntervalSet:
    """When any thread evaluates a node of the autograd graph; before torch 1.10 only the nodes themselves are named."""
    ops = facts.trace.ops
    return IntervalSet.of_rows(ops, matching(ops["name"], _BACKWARD.match))


def _kernel_phases(facts: Facts, device: int, backward: IntervalSet) -> dict[str, IntervalSet]:
    """Compute kernels by what launched them: backward, optimizer, or anything else (drawn as forward)."""
    launched = facts.device.launched
    compute = (launched["device"].to_numpy() == device) & is_any(launched["kind"], "compute")
    at = launched["launch_start_ns"].to_numpy()
    updating = facts.host.threads.anywhere("optimizer").contains(at)
    returning = backward.contains(at) & ~updating
    return {
        "opt": IntervalSet.of_rows(launched, compute & updating),
        "bwd": IntervalSet.of_rows(launched, compute & returning),
        "fwd": IntervalSet.of_rows(launched, compute & ~updating & ~returning),
    }


def _draw(layers: list[tuple[str, str, IntervalSet]], start_ns: int, end_ns: int) -> tuple[LaneSpan, ...]:
    """Cuts layers (first one on top) into disjoint spans in order, merging what is too close to tell apart."""
    gap = int((end_ns - start_ns) * _MERGE_RATIO)
    busy, taken = IntervalSet.union(whole.clip(start_ns, end_ns) for _, _, whole in layers), EMPTY
    found: list[LaneSpan] = []
    for label, cause, whole in layers:
        spans = whole.clip(start_ns - gap, end_ns)
        near = IntervalSet(spans.start_ns, spans.end_ns + gap).clip(start_ns, end_ns)
        free = near - taken
        taken |= near
        worked = busy.overlap_with(free.start_ns, free.end_ns).tolist()
        found += [
            LaneSpan(start - start_ns, end - start_ns, label, cause, busy_ns)
            for (start, end), busy_ns in zip(free.pairs(), worked, strict=True)
            if end - start > gap or spans.overlap_with([start], [end])[0] > gap
        ]
    found.sort(key=lambda span: span.start_ns)
    if len(found) > MAX_SPANS:
        longest = np.sort([span.end_ns - span.start_ns for span in found])[-MAX_SPANS]
        found = [span for span in found if span.end_ns - span.start_ns >= longest][:MAX_SPANS]
    return tuple(found)
