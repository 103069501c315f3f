"""Time and work of operators: on built traces, and against sums made from the raw events of somebody's recording."""

from __future__ import annotations

import gzip
import json
import math
from collections import defaultdict
from typing import Any

import msgspec
import pytest

from analyzer.facts import Facts
from analyzer.hardware.call import Work
from analyzer.hardware.document import hardware
from analyzer.hardware.operators import operators
from analyzer.hardware.shortfall import shortfalls
from building.builders import TraceBuilder
from running.recorded import SHARED, needs_shared, trace_of

LINEAR = {"Input Dims": [[64, 128], [256, 128], [256]], "Input type": ["float"] * 3}
ADDMM = {"Input Dims": [[256], [64, 128], [128, 256]], "Input type": ["c10::BFloat16"] * 3}
NAME = "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1_SN"
FLOPS = 2 * 64 * 128 * 256


def _builder(dur: float) -> TraceBuilder:
    """Three steps, each a linear layer: `addmm` inside `linear`, and one kernel."""
    builder = TraceBuilder(device="rocm")
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 900)
        builder.op("aten::linear", at + 10, 100, **LINEAR)
        builder.op("aten::addmm", at + 20, 80, **ADDMM)
        builder.launch(at + 30, kernel_start=at + 150, kernel_dur=dur, name=NAME, op=None)
    return builder


def test_a_layer_counts_once_as_the_product_inside_it() -> None:
    facts = Facts(_builder(100).trace())
    (one,) = operators(facts).rows
    assert (one.op, one.calls, one.device_ns) == ("aten::addmm", facts.steps.count, facts.steps.count * 100_000)
    assert one.work == Work(FLOPS, 2 * (256 + 64 * 128 + 128 * 256 + 64 * 256))


def test_the_document_compares_with_the_datasheet() -> None:
    facts = Facts(_builder(100).trace())
    document = hardware(facts)
    (one,) = document.operators
    assert document.peaks.source == "datasheet"
    assert document.peaks.document
    assert one.flops == facts.steps.count * FLOPS
    assert one.flops_per_s == pytest.approx(FLOPS / 100e-6)
    least_ns = max(FLOPS / 1307.4e12, one.bytes / facts.steps.count / 5.325e12) * 1e9  # type: ignore[operator]
    assert one.side == "memory"
    assert one.peak_ratio == pytest.approx(least_ns / 100_000)
    assert one.above_roofline_ns == pytest.approx(facts.steps.count * (100_000 - least_ns), abs=1)
    assert (
        document.hfu_ratio
        == document.mfu_ratio
        == pytest.approx(facts.steps.count * FLOPS / 1307.4e12 * 1e9 / facts.steps.total_ns)
    )
    assert document.known_ratio == 1.0


def test_faster_than_the_peak_is_doubt_and_no_result() -> None:
    (one,) = hardware(Facts(_builder(0.001).trace())).operators
    assert (one.peak_ratio, one.above_roofline_ns) == (None, None)
    assert "faster than the peak" in one.reason


def _attention(causal: str, dur: float) -> TraceBuilder:
    """Three steps, each one call of flash attention in bfloat16 on 4,096 queries and keys, and its kernel."""
    builder = TraceBuilder(device="rocm")
    dims, types = [[4, 32, 4096, 128]] * 3 + [[]] * 3, ["c10::BFloat16"] * 3 + ["Scalar"] * 3
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 9_000)
        args = {"Input Dims": dims, "Input type": types, "Concrete Inputs": ["", "", "", "0.", causal, "False"]}
        builder.op("aten::_scaled_dot_product_flash_attention", at + 10, 80, **args)
        builder.launch(at + 30, kernel_start=at + 150, kernel_dur=dur, name="flash_fwd_kernel", op=None)
    return builder


def test_what_a_causal_mask_leaves_out_is_neither_achieved_nor_too_fast() -> None:
    """1.5 times its peak if all were computed, three quarters of it without the half that is masked."""
    flops = 2 * 2 * 4 * 32 * 4096**2 * 128
    least_us = flops / 1307.4e6
    causal, whole, unknown = (
        hardware(Facts(_attention(flag, least_us / 1.5).trace())) for flag in ("True", "False", "")
    )
    (one,) = causal.operators
    assert one.flops is not None
    assert (one.flops, one.masked_flops) == (3 * flops, 3 * flops * 4095 // 8192)
    assert one.peak_ratio == pytest.approx(0.75, rel=1e-3)
    assert one.flops_per_s == pytest.approx(0.75 * 1307.4e12, rel=1e-3)
    steps_us = Facts(_attention("True", least_us).trace()).steps.total_ns / 1e3
    assert causal.mfu_ratio == pytest.approx(3 * least_us / 2 / steps_us, rel=1e-3)
    assert [found.operators[0].peak_ratio for found in (whole, unknown)] == [None, None]
    assert all("mask that is not recorded" in found.operators[0].reason for found in (whole, unknown))
    assert (whole.operators[0].masked_flops, whole.mfu_ratio) == (0, None)


@pytest.mark.parametrize(
    ("other", "known"),
    [
        ("aten::relu", True), ("aten::mkldnn_rnn_layer", False), ("aten::_int_mm", False), ("mkldnn::_linear_pointwise", False),
        ("aten::lstm", True), ("mkl::_mkl_linear", False), ("mkldnn::_convolution_transpose_pointwise", False),
        ("aten::_weight_int4pack_mm_for_cpu", False),
    ],
)  # fmt: skip
def test_utilisation_is_not_told_of_a_part_of_the_products(other: str, known: bool) -> None:
    """On the CPU no kernel says that a library multiplies inside an op without a formula."""
    told = {"device": "cpu", "threads": 1, "flops_per_s": {"fp32": 1e11}, "bytes_per_s": 2e10}
    builder = TraceBuilder(device=None, advisor={"calibration": told, "threads": {"intra_op": 1}, "device": "cpu"})
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 9_000)
        dims = {"Input Dims": [[512, 512], [512, 512]], "Input type": ["float"] * 2}
        builder.op("aten::mm", at + 10, 4_000, **dims)
        builder.op(other, at + 5_000, 3_000, **dims)
    document = hardware(Facts(builder.trace()))
    assert (document.hfu_ratio is not None, document.mfu_ratio is not None) == (known, known)
    assert ("outside ops whose work is known" in document.utilisation_reason) is not known


@pytest.mark.parametrize(
    ("op", "kernel", "dur", "known"),
    [
        (None, "Kernel2", 100, False), ("mylib::fused_loss", "_fused_linear_cross_entropy_kernel", 100, False),
        # What torch's own ops without a formula launch is known to be something else; so are names that say what they do.
        ("aten::topk", "Kernel2", 100, True), (None, "triton_poi_fused_add_0", 100, True),
    ],
)  # fmt: skip
def test_utilisation_is_not_told_where_kernels_may_be_products(
    op: str | None, kernel: str, dur: float, known: bool
) -> None:
    """By a name that says nothing, outside all ops as in a graph, or in an op of somebody else's."""
    builder = _builder(100)
    for number in range(3):
        builder.launch(number * 1_000 + 300, kernel_start=number * 1_000 + 400, kernel_dur=dur, name=kernel, op=op)
    document = hardware(Facts(builder.trace()))
    assert (document.hfu_ratio is not None, document.mfu_ratio is not None) == (known, known)
    assert ("nothing tells whether it multiplies" in document.utilisation_reason) is not known


@pytest.mark.parametrize(
    ("op", "known"), [("mylib::fused_loss", False), ("aten::topk", True), ("AddmmBackward0", True)]
)
def test_without_a_device_ops_of_others_may_multiply(op: str, known: bool) -> None:
    document = hardware(_on_the_cpu(("aten::mm", [[512, 512]] * 2, "float"), (op, [[512, 512]] * 2, "float")))
    assert (document.hfu_ratio is not None) is known
    assert ("nothing tells whether it multiplies" in document.utilisation_reason) is not known


def _on_the_cpu(*calls: tuple[str, object, str]) -> Facts:
    """Three steps, each of these ops one after the other: name, shapes, type; with a calibration."""
    told = {"device": "cpu", "threads": 1, "flops_per_s": {"fp32": 1e11}, "bytes_per_s": 2e10}
    builder = TraceBuilder(device=None, advisor={"calibration": told, "threads": {"intra_op": 1}, "device": "cpu"})
    for number in range(3):
        builder.step(number, number * 10_000, 9_000)
        for place, (name, dims, kind) in enumerate(calls):
            at = number * 10_000 + 10 + place * 4_000
            builder.op(name, at, 3_000, **{"Input Dims": dims, "Input type": [kind] * 2})
    return Facts(builder.trace())


def test_a_product_of_nothing_hides_no_utilisation_and_is_not_slow() -> None:
    """As of an expert that no token came to."""
    facts = _on_the_cpu(("aten::mm", [[512, 512], [512, 512]], "float"), ("aten::mm", [[0, 512], [512, 512]], "float"))
    document = hardware(facts)
    assert document.hfu_ratio == document.mfu_ratio == pytest.approx(3 * 2 * 512**3 / 1e11 * 1e9 / facts.steps.total_ns)
    assert [json.loads(one.operator.input_dims) for one in shortfalls(facts)] == [[[512, 512], [512, 512]]]


@pytest.mark.parametrize(
    ("name", "dims"),
    [("aten::mm", [[2**62, 2**62]] * 2), ("aten::relu", [[2**62] * 40]), ("aten::mm", [[2**31, 2**31]] * 2)],
)
def test_sizes_beyond_any_device_are_no_work(name: str, dims: object) -> None:
    document = hardware(_on_the_cpu((name, dims, "float")))
    (one,) = document.operators
    assert (one.flops, one.bytes, one.peak_ratio) == (None, None, None)
    assert msgspec.json.encode(document)


@pytest.mark.parametrize("stated", [1e308, 1e12, -1, "inf"])
def test_sizes_of_inductors_own_are_not_believed_beyond_any_device(stated: object) -> None:
    builder = TraceBuilder(device=None)
    for number in range(3):
        builder.step(number, number * 1_000, 900)
        builder.op("triton_poi_fused_add_0", number * 1_000 + 10, 100, kernel_num_gb=stated, **{"Input Dims": [[3, 3]]})
    assert [one.bytes for one in hardware(Facts(builder.trace())).operators] in ([], [None])


def test_a_product_under_vmap_counts_with_its_batch() -> None:
    """The ops around it are recorded with the shapes of one sample."""
    builder = TraceBuilder(device=None)
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 900)
        for inner in (0, 10):
            dims = {"Input Dims": [[4, 5], [5, 6]], "Input type": ["float"] * 2}
            builder.op("aten::mm", at + 10 + inner, 200 - 2 * inner, **dims)
        builder.op("aten::bmm", at + 30, 100, **{"Input Dims": [[3, 4, 5], [3, 5, 6]], "Input type": ["float"] * 2})
    (one,) = operators(Facts(builder.trace())).rows
    assert (one.op, one.calls, one.device_ns) == ("aten::bmm", 3, 300_000)
    assert isinstance(one.work, Work)
    assert one.work.flops == 3 * 2 * 4 * 5 * 6


@pytest.mark.parametrize(
    ("around", "inside"),
    [
        (None, "aten::sparse_dim"),
        (None, "aten::crow_indices"),
        (None, "aten::_sparse_addmm"),
        ("aten::_sparse_mm", None),
    ],
)
def test_a_sparse_factor_is_not_counted_as_dense(around: str | None, inside: str | None) -> None:
    """Beside a dense product of the same sizes."""
    builder = TraceBuilder(device="rocm")
    dims = {"Input Dims": [[4096, 4096], [4096, 64]], "Input type": ["c10::BFloat16"] * 2}
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 900)
        for place in range(2):
            if around is not None and place:
                builder.op(around, at + 9 + 200 * place, 110)
            builder.op("aten::mm", at + 10 + 200 * place, 100, **dims)
            if inside is not None and place:
                builder.op(inside, at + 20 + 200 * place, 10)
            builder.launch(
                at + 40 + 200 * place, kernel_start=at + 100 + 200 * place, kernel_dur=50, name=NAME, op=None
            )
    document = hardware(Facts(builder.trace()))
    assert [(one.calls, one.flops, bool(one.reason)) for one in document.operators] in (
        [(3, 3 * 2 * 4096**2 * 64, False), (3, None, True)],
        [(3, None, True), (3, 3 * 2 * 4096**2 * 64, False)],
    )
    assert (document.hfu_ratio, document.known_ratio) == (None, 0.5)
    assert "a factor is sparse" in document.utilisation_reason


def test_an_unknown_device_has_rates_and_no_share() -> None:
    builder = _builder(100)
    builder.top["deviceProperties"] = [builder.top["deviceProperties"][0] | {"numSms": 38}]
    document = hardware(Facts(builder.trace()))
    (one,) = document.operators
    assert one.flops_per_s
    assert one.peak_ratio is None
    assert document.hfu_ratio is None
    assert document.peaks.source == "unknown"
    assert not document.peaks.flops_per_s


def test_without_shapes_nothing_is_said() -> None:
    builder = TraceBuilder(device="rocm")
    for number in range(3):
        builder.step(number, number * 1_000, 900)
        builder.op("aten::addmm", number * 1_000 + 20, 80)
        builder.launch(number * 1_000 + 30, kernel_start=number * 1_000 + 150, kernel_dur=100, op=None)
    document = hardware(Facts(builder.trace()))
    assert document.operators == ()
    assert "record_shapes" in document.reason
    assert document.hfu_ratio is document.mfu_ratio is None
    # The others need no shapes.
    assert next(one for one in document.ceilings if one.name == "roofline").step_ns is None


@needs_shared
def test_a_recorded_run_agrees_with_sums_of_its_raw_events() -> None:
    """By correlation, launch, and the op around the launch, in plain loops; output sizes from the ops' own strides and pads."""
    path = SHARED / "tracelens_mi300x_ddp_resnet.json.gz"
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    wanted = {"aten::convolution", "aten::convolution_backward", "aten::mm", "aten::addmm"}
    ops = [one for one in events if one.get("cat") == "cpu_op" and one["name"] in wanted]
    calls = {
        one["args"]["correlation"]: one
        for one in events
        if one.get("cat") == "cuda_runtime" and "correlation" in one["args"]
    }
    facts = Facts(trace_of(path))
    origin = facts.trace.meta.origin_ns
    used = [(low + origin, high + origin) for low, high in facts.steps.window.pairs()]
    times: dict[str, float] = defaultdict(float)
    flops: dict[str, float] = defaultdict(float)
    seen: set[int] = set()
    for kernel in (one for one in events if one.get("cat") == "kernel"):
        at, call = kernel["ts"] * 1_000, calls.get(kernel["args"]["correlation"])
        if call is None or not any(low <= at < high for low, high in used):
            continue
        for op in ops:
            if op["tid"] == call["tid"] and op["ts"] <= call["ts"] <= op["ts"] + op["dur"]:
                times[op["name"]] += kernel["dur"] * 1_000
                if id(op) not in seen:
                    seen.add(id(op))
                    flops[op["name"]] += _flops(op)
                break
    found = operators(facts)
    assert set(times) == wanted
    for name in wanted:
        rows = [one for one in found.rows if one.op == name]
        assert sum(one.device_ns for one in rows) == pytest.approx(times[name], rel=0.01)
        assert sum(one.calls * one.work.flops for one in rows if isinstance(one.work, Work)) == pytest.approx(
            flops[name], rel=0.01
        )


def _flops(op: dict[str, Any]) -> float:
    dims, values = op["args"]["Input Dims"], op["args"]["Concrete Inputs"]
    if op["name"].endswith("mm"):
        first, second = dims[-2:] if op["name"] == "aten::mm" else dims[1:3]
        return 2.0 * first[0] * first[1] * second[1]
    if op["name"] == "aten::convolution_backward":
        gradient, _, weight = dims[:3]
        return 2.0 * math.prod(gradient) * math.prod(weight[1:]) * values[10].strip("[]").split(", ")[:2].count("True")
    data, weight = dims[:2]
    stride, pad = (json.loads(values[place])[0] for place in (3, 4))
    side = math.floor((data[2] + 2 * pad - weight[2]) / stride) + 1
    return 2.0 * data[0] * weight[0] * side * side * math.prod(weight[1:])


def test_without_a_device_an_op_takes_its_own_time_and_no_peak_is_named() -> None:
    builder = TraceBuilder(device=None)
    for number in range(3):
        builder.step(number, number * 1_000, 900)
        builder.op("aten::linear", number * 1_000 + 10, 100, **LINEAR)
        builder.op("aten::addmm", number * 1_000 + 20, 80, **ADDMM)
    facts = Facts(builder.trace())
    document = hardware(facts)
    (one,) = document.operators
    assert (one.op, one.calls, one.kernel_ns) == ("aten::addmm", facts.steps.count, facts.steps.count * 80_000)
    assert one.flops_per_s == pytest.approx(FLOPS / 80e-6)
    assert one.peak_ratio is None
    assert document.peaks.source == "unknown"
