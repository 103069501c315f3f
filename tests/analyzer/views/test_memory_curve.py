from __future__ import annotations

from analyzer.facts import Facts
from analyzer.views.memory_curve import memory_curves
from building.builders import PROCESS, TraceBuilder

MIB = 1 << 20


def memory(builder: TraceBuilder, at: float, delta: int, *, total: int | None = None, device: int = 0) -> None:
    arguments = {"Addr": 1, "Bytes": delta, "Device Type": 1 if device >= 0 else 0, "Device Id": device}
    if total is not None:
        arguments |= {"Total Allocated": total, "Total Reserved": 10 * MIB}
    builder.events.append(
        {"ph": "i", "name": "[memory]", "s": "t", "pid": PROCESS, "tid": PROCESS, "ts": at, "args": arguments}
    )


def world(*, totals: bool) -> TraceBuilder:
    builder = TraceBuilder()
    for number in range(2):
        at = number * 1_000
        builder.step(number, at, 1_000)
        builder.op("aten::conv2d", at + 100, 200, **{"Input Dims": [[2, 3]]})
        builder.op("aten::empty", at + 120, 10)
        memory(builder, at + 125, 4 * MIB, total=6 * MIB if totals else None)
        memory(builder, at + 200, 1 * MIB, total=7 * MIB if totals else None)
        memory(builder, at + 900, -5 * MIB, total=2 * MIB if totals else None)
    return builder


def test_the_curve_has_the_recorded_totals_and_the_peak():
    (curve,) = memory_curves(Facts(world(totals=True).trace()))
    assert (curve.device, curve.peak_bytes, curve.peak_step, curve.relative) == ("GPU 0", 7 * MIB, 0, False)
    assert max(curve.allocated_bytes) == 7 * MIB
    assert set(curve.reserved_bytes) == {10 * MIB}


def test_without_totals_it_counts_from_the_first_event():
    (curve,) = memory_curves(Facts(world(totals=False).trace()))
    assert (curve.peak_bytes, curve.relative, curve.reserved_bytes) == (5 * MIB, True, ())


def test_allocations_belong_to_the_innermost_op():
    (curve,) = memory_curves(Facts(world(totals=True).trace()))
    first, second = curve.allocators
    assert (first.name, first.size_bytes, first.calls, first.largest_bytes) == ("aten::empty", 4 * MIB, 1, 4 * MIB)
    assert (second.name, second.shape) == ("aten::conv2d", "[[2, 3]]")


def test_accelerators_come_before_the_cpu():
    builder = world(totals=True)
    memory(builder, 50, MIB, device=-1)
    assert [curve.device for curve in memory_curves(Facts(builder.trace()))] == ["GPU 0", "CPU"]


def test_without_memory_events_there_is_no_curve():
    assert memory_curves(Facts(TraceBuilder().step(0, 0, 10).trace())) == ()
