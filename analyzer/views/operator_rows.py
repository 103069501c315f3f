"""What the tables of operators hold: plain data, nanoseconds per step."""

from __future__ import annotations

from typing import Literal

import msgspec

Group = Literal["op", "shape", "kernel", "module"]
GROUPS: tuple[Group, ...] = ("op", "shape", "kernel", "module")


class Work(msgspec.Struct, frozen=True):
    """What an op with one set of shapes achieves; None where it is not known, as a field of the document is.

    Args:
        flops_per_s: Of products.
        bytes_per_s: Inputs and outputs, once.
        peak_ratio: The least time at the device's peaks as a share of the time it takes.
        side: Which peak limits it.
        above_ns: Time per step above that least time.
        reason: Why one is None.
    """

    flops_per_s: float | None
    bytes_per_s: float | None
    peak_ratio: float | None
    side: str | None
    above_ns: float | None
    reason: str


class OperatorRow(msgspec.Struct, frozen=True):
    """One line of the table; times are nanoseconds per step.

    Args:
        name: Of the op, kernel or module.
        shape: Input shapes as recorded, for the group `shape`; else empty.
        calls: Per step.
        self_host_ns: Host time outside the ops it calls; None for kernels.
        host_ns: Host time; None for kernels.
        self_device_ns: Device time of what it launches itself.
        device_ns: Device time of what is launched inside.
        share: Of all device time (its own part); on a trace without device work of all host time.
        tensor_core_ratio: Share of its matrix kernels' time on tensor cores; None where no name says.
        work: What it achieves; None where nothing is known of it.
        depth: How many modules are around it; 0 for anything else.
        findings: Rules whose findings concern at least half of its time, most first; none for modules.
    """

    name: str
    shape: str
    calls: float
    self_host_ns: int | None
    host_ns: int | None
    self_device_ns: int
    device_ns: int
    share: float
    tensor_core_ratio: float | None
    work: Work | None = None
    depth: int = 0
    findings: tuple[str, ...] = ()


class Neighbour(msgspec.Struct, frozen=True):
    """A caller or a callee with the calls between the two, per step."""

    name: str
    calls: float
    host_ns: int
    device_ns: int


class Example(msgspec.Struct, frozen=True):
    """One call: the step it is in, its start in that step, its length, and its shapes or stream."""

    step: int
    start_ns: int
    dur_ns: int
    detail: str


class OperatorDetail(msgspec.Struct, frozen=True):
    """Around one row of the table."""

    row: OperatorRow
    callers: tuple[Neighbour, ...]
    callees: tuple[Neighbour, ...]
    examples: tuple[Example, ...]
