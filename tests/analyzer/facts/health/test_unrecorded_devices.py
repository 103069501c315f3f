"""Traces of a device whose work torch.profiler does not record: ops and memory tell of it, and the host may be waiting for it."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from building.builders import MAIN, PROCESS, TraceBuilder


def world(op: str = "aten::relu", device_type: int | None = None, calls: str | None = None) -> TraceBuilder:
    """Four steps of a millisecond, most of it inside an op that reads a value; before it what tells of a device."""
    builder = TraceBuilder(device=None)
    for number in range(4):
        at = number * 1_000
        builder.step(number, at, 1_000)
        builder.op(op, at + 10, 30)
        builder.op("aten::item", at + 50, 800)
        if device_type is not None:
            memory = {"Bytes": 512, "Device Type": device_type, "Device Id": 0}
            where = {"pid": PROCESS, "tid": MAIN}
            builder.events.append({"ph": "i", "name": "[memory]", "s": "t", "ts": at + 15, **where, "args": memory})
        if calls is not None:
            builder.event(calls, "privateuse1_runtime", at + 60, 5)
    return builder


@pytest.mark.parametrize(
    ("op", "recorded"),
    [
        ("aten::_mps_convolution", False),
        ("aten::mps_convolution_backward", False),
        ("aten::_scaled_dot_product_attention_math_for_mps", False),
        ("aten::linear_backward", False),
        ("aten::_copy_from_and_resize", False),
        ("npu::npu_fusion_attention", False),
        ("aten::_scaled_dot_product_efficient_attention", False),
        ("aten::_scaled_dot_product_flash_attention", False),
        ("aten::_flash_attention_forward", False),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", True),
        ("aten::linear", True),
        ("aten::copy_", True),
    ],
)
def test_ops_of_a_device(op: str, recorded: bool) -> None:
    assert Facts(world(op).trace()).device.unrecorded is not recorded


@pytest.mark.parametrize(
    ("device_type", "recorded"), [(0, True), (14, True), (1, False), (6, False), (13, False), (20, False)]
)
def test_memory_of_a_device(device_type: int, recorded: bool) -> None:
    """`c10::DeviceType`: the host, none (meta), CUDA, HIP, MPS, PrivateUse1."""
    assert Facts(world(device_type=device_type).trace()).device.unrecorded is not recorded


@pytest.mark.parametrize(
    ("builder", "makers"),
    [
        (world("aten::_mps_convolution"), True),
        (world(device_type=20), True),
        (world(calls="nrt_execute"), True),
        (world("aten::cudnn_convolution"), False),
        (world(device_type=1), False),
    ],
)
def test_the_verdict_waits_for_a_profiler_that_sees_the_device(builder: TraceBuilder, makers: bool) -> None:
    facts = Facts(builder.trace())
    assert explain_facts(facts).analysis.summary.verdict.bound_by == "unknown"
    (fix,) = (one.fix for one in facts.health.symptoms if one.code == "PG005")
    assert ("its maker's profiler" in fix) is makers
    assert ("ProfilerActivity.CUDA" in fix) is not makers
