"""Traces with memory events: what the tests of the memory rules share."""

from __future__ import annotations

from collections.abc import Sequence

from building.builders import PROCESS, TraceBuilder

GB = 1_000_000_000


def world(
    allocated: Sequence[int],
    reserved: Sequence[int] | None = None,
    *,
    totals: bool = True,
    device: dict[str, object] | None = None,
    busy: float = 900,
) -> TraceBuilder:
    """One step of 1 ms per value, each with one kernel and one memory event near its end that states the totals."""
    builder = TraceBuilder(top={} if device is None else {"deviceProperties": [device] if device else []})
    for number, value in enumerate(allocated):
        at = number * 1_000.0
        builder.step(number, at, 1_000)
        builder.launch(at, kernel_start=at + 50, kernel_dur=busy)
        args: dict[str, object] = {"Device Type": 1, "Device Id": 0, "Bytes": 512, "Addr": 1}
        if totals:
            args |= {"Total Allocated": value, "Total Reserved": reserved[number] if reserved else value}
        event = builder.event("[memory]", "cpu_instant_event", at + 990, None, args=args)
        event |= {"ph": "i", "s": "t", "pid": PROCESS}
    return builder
