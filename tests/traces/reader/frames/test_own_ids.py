"""Launches and kernels that share nothing but an External id, as Kineto over roctracer wrote them."""

from __future__ import annotations

from typing import Any

from building.builders import MAIN, PROCESS, TraceBuilder
from traces.trace import Capability, Trace

_GRID: dict[str, Any] = {"grid dim": [512, 4, 1], "block dim": [256, 1, 1], "stream": "0x0", "shared size": 0}


def _events(*, of_ops: bool, query_id: int = 5) -> TraceBuilder:
    """Two products, each of two kernels, without correlations.

    Args:
        of_ops: Whether launches and kernels have the External id of their op; else each launch has one of its own.
        query_id: The External id of a call that launches nothing.
    """
    builder = TraceBuilder("rocm")
    builder.event("hipGetDevicePropertiesR0600", "cuda_runtime", 5, 1, args={"External id": query_id})
    for number in (0, 1):
        start = 10 + 20 * number
        builder.event("aten::mm", "cpu_op", start, 15, args={"External id": 21 + number})
        for kernel in (0, 1):
            identity = 21 + number if of_ops else 20 + 2 * number + kernel
            call = start + 3 + 3 * kernel
            builder.event("hipExtModuleLaunchKernel", "cuda_runtime", call, 2, args={"External id": identity, **_GRID})
            builder.event(
                "Cijk_ISA942",
                "kernel",
                100 + 40 * number + 20 * kernel,
                20,
                pid=2,
                tid=0,
                args={"External id": identity},
            )
    return builder


def _launched(trace: Trace) -> list[tuple[int, int]]:
    """Start of each kernel's launch and of the kernel, in microseconds from the first."""
    calls = trace.runtime.dropna(subset=["correlation"]).set_index("correlation")["start_ns"]
    return [
        (int(calls[row.correlation]) // 1000, row.start_ns // 1000)
        for row in trace.kernels.itertuples()
        if row.correlation in calls.index
    ]


def test_numbers_of_launches_are_correlations() -> None:
    trace = _events(of_ops=False).trace()
    assert Capability.LAUNCHES in trace.capabilities
    assert _launched(trace) == [(8, 95), (11, 115), (28, 135), (31, 155)]
    # Ops are counted from another number on: 21 is the first op and the second kernel of it.
    assert trace.kernels["external_id"].isna().all()
    assert trace.ops["external_id"].tolist() == [21, 22]
    assert trace.runtime["grid"].dropna().unique().tolist() == ["[512, 4, 1]"]


def test_numbers_of_ops_are_none() -> None:
    """Two launches of one op: nothing tells which kernel is whose."""
    trace = _events(of_ops=True).trace()
    assert Capability.LAUNCHES not in trace.capabilities
    assert trace.kernels["external_id"].tolist() == [21, 21, 22, 22]


def test_a_number_of_a_call_that_launches_nothing_is_none() -> None:
    builder = _events(of_ops=False)
    builder.event("Cijk_ISA942", "kernel", 300, 20, pid=2, tid=0, args={"External id": 5})
    assert Capability.LAUNCHES not in builder.trace().capabilities


def test_correlations_that_are_stated_count() -> None:
    builder = _events(of_ops=False)
    builder.event("hipLaunchKernel", "cuda_runtime", 400, 2, args={"External id": 90, "correlation": 7})
    builder.event("elementwise", "kernel", 410, 5, pid=PROCESS, tid=MAIN, args={"External id": 91, "correlation": 7})
    trace = builder.trace()
    assert _launched(trace) == [(395, 405)]
    assert trace.kernels["external_id"].notna().all()
