"""KE004: a device that computes for 97 % of each step, mostly GEMMs on tensor cores."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Severity, State
from building.builders import CUDA_DEVICE, TraceBuilder
from building.clocked import Clocked
from programs.hardware import layer
from rules.kernels.hardware_bound import RULE
from running.one_rule import judged, run
from stories.models import layers, layers_back, update_foreach

TENSOR = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"
PLAIN = "volta_sgemm_128x64_tn"


def world(*, tensor: float = 80_000, plain: float = 0, other: float = 17_000, name: str = TENSOR) -> TraceBuilder:
    """Three steps of 100 ms: GEMMs on tensor cores, GEMMs beside them, other kernels, then nothing."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        start = at + 20.0
        for kernel, dur, op in (
            (name, tensor, "aten::mm"),
            (PLAIN, plain, "aten::mm"),
            ("elementwise", other, "aten::add"),
        ):
            if dur:
                builder.launch(at + 1, kernel_start=start, kernel_dur=dur, name=kernel, op=op)
                start += dur
                at += 10
    return builder


def remembering(allocated: int) -> TraceBuilder:
    """The same with memory events: bytes that tensors take of a card of 85 GB."""
    builder = world()
    args = {"Device Type": 1, "Device Id": 0, "Bytes": 512, "Addr": 1, "Total Allocated": allocated}
    event = builder.event("[memory]", "cpu_instant_event", 99_000, None, args={**args, "Total Reserved": allocated})
    event["ph"] = "i"
    return builder


@pytest.mark.parametrize(("allocated", "accumulates"), [(60_000_000_000, True), (20_000_000_000, False), (0, False)])
def test_accumulating_is_advised_only_where_memory_limits_the_batch(allocated: int, accumulates: bool) -> None:
    builder = remembering(allocated) if allocated else world()
    fixes = [fix.code for fix in judged(RULE, builder).finding.fix]
    assert any("(loss / 2).backward()" in code for code in fixes) is accumulates


GROUPED = "void cudnn::cnn::conv2d_grouped_direct_kernel<__half, __half, __half, float, float, true, true, 0, 0, 0>(p)"


@pytest.mark.parametrize(("grouped", "state"), [(0.1, State.FIRED), (0.5, State.CLEAR)])
def test_convolutions_channel_by_channel_are_no_work_of_tensor_cores(grouped: float, state: State) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        first = 97_000 * (1 - grouped)
        builder.launch(at + 1, kernel_start=at + 20, kernel_dur=first, name=TENSOR, op="aten::mm")
        builder.launch(
            at + 11, kernel_start=at + 20 + first, kernel_dur=97_000 - first, name=GROUPED, op="aten::cudnn_convolution"
        )
    result = run(RULE, builder)
    assert result.state is state, result.reason


def test_fires_without_a_saving() -> None:
    found = judged(RULE, world())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert found.finding.why == (
        "The device computes for 97 % of the step, 82 % of it matrix work, 100 % of that in 16 bits or fewer: "
        "there is no waiting to remove. The other 18 % is kernels around it."
    )
    assert "The other" not in judged(RULE, world(tensor=90_000, other=7_000)).finding.why


def renamed_to(name: str, kind: str | None) -> TraceBuilder:
    """The same, its products by kernels whose name says nothing of formats; their ops with or without recorded types.

    In bfloat16 they reach 589 TFLOP/s.
    """
    builder = world()
    for event in builder.events:
        if event["name"] == TENSOR:
            event["name"] = name
        elif event["name"] == "aten::mm" and kind is not None:
            event["args"] |= {"Input type": [kind, kind], "Input Dims": [[28672, 28672], [28672, 28672]]}
    return builder


@pytest.mark.parametrize(
    ("kind", "state"), [("c10::BFloat16", State.FIRED), ("float", State.CLEAR), (None, State.CANNOT_TELL)]
)
@pytest.mark.parametrize("name", ["gemm_kernel", "attn_fwd"])
def test_recorded_types_tell_the_format_that_a_name_does_not(name: str, kind: str | None, state: State) -> None:
    """As kernels of Triton and of Intel are called."""
    builder = renamed_to(name, kind)
    if name == "attn_fwd":
        for event in builder.events:
            event["name"] = (
                "aten::_scaled_dot_product_flash_attention" if event["name"] == "aten::mm" else event["name"]
            )
    assert run(RULE, builder).state is state


def test_a_rate_says_nothing_where_no_peak_is_known() -> None:
    """Nothing tells whether 589 TFLOP/s are much; of products whose shapes are not recorded the same is said as ever."""
    other = [CUDA_DEVICE | {"name": "NVIDIA Unheard Of"}]
    builder = renamed_to("gemm_kernel", "c10::BFloat16")
    builder.top["deviceProperties"] = other
    found = run(RULE, builder)
    assert found.state is State.CANNOT_TELL
    assert "589 TFLOP/s" in found.reason
    builder = world()
    builder.top["deviceProperties"] = other
    assert run(RULE, builder).state is State.FIRED


@pytest.mark.parametrize(("other", "state"), [(14_000, State.CLEAR), (16_000, State.FIRED)])
def test_boundary_of_computing(other: float, state: State) -> None:
    assert run(RULE, world(other=other)).state is state


@pytest.mark.parametrize(("tensor", "state"), [(47_000, State.CLEAR), (50_000, State.FIRED)])
def test_boundary_of_matrix_work(tensor: float, state: State) -> None:
    assert run(RULE, world(tensor=tensor, other=97_000 - tensor)).state is state


@pytest.mark.parametrize(("plain", "state"), [(22_000, State.CLEAR), (18_000, State.FIRED)])
def test_boundary_of_short_formats(plain: float, state: State) -> None:
    assert run(RULE, world(tensor=97_000 - plain, plain=plain, other=0)).state is state


def test_quiet_when_tensor_cores_are_given_32_bits() -> None:
    builder = world()
    for event in builder.events:
        if event["name"] == TENSOR:
            event["name"] = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4"
    result = run(RULE, builder)
    assert result.state is State.CLEAR
    assert "software has something left" in result.reason


@pytest.mark.parametrize(("other", "state"), [(22_000, State.CLEAR), (17_000, State.FIRED)])
def test_boundary_of_what_is_left_to_fuse(other: float, state: State) -> None:
    builder = world(tensor=97_000 - other, other=0)
    for number in range(3):
        at = number * 100_000.0
        for index in range(2):
            start = at + 20 + 97_000 - other + index * other / 2
            name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(p)"
            builder.launch(at + 50 + 10 * index, kernel_start=start, kernel_dur=other / 2, name=name)
    assert run(RULE, builder).state is state


@pytest.mark.parametrize(("dur", "state"), [(150, State.FIRED), (300, State.CLEAR)])
def test_quiet_where_most_of_the_time_is_above_the_rooflines(dur: float, state: State) -> None:
    """An MI300X needs 105 us for these products."""
    builder = TraceBuilder("rocm")
    for number in range(3):
        at = number * 10 * (dur + 1)
        builder.step(number, at, 10 * (dur + 1))
        for index in range(10):
            layer(builder, at + index * (dur + 1), sizes=(4096, 4096, 4096), dur=dur)
    assert run(RULE, builder).state is state


def test_quiet_when_the_step_waits() -> None:
    assert run(RULE, world(other=0)).state is State.CLEAR


def test_kernels_whose_names_say_nothing_leave_it_open() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).launch(
            at + 1, kernel_start=at + 20, kernel_dur=97_000, name="fused_job_7", op="aten::mm"
        )
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_not_applicable_without_a_device() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000).op("aten::linear", 0, 900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


def test_where_nothing_else_is_left_less_work_is_named() -> None:
    said = " ".join(fix.code for fix in judged(RULE, world()).finding.fix)
    assert all(word in said for word in ("Quantization", "smaller or pruned model", "faster devices"))


def test_what_multiplies_in_8_bits_is_not_told_to() -> None:
    eight = judged(RULE, world(name=TENSOR.replace("bf16bf16_bf16f32_f32", "e4m3bf16_e4m3f32_f32"))).finding
    assert "100 % in 8" in eight.why
    assert not any("FP8" in fix.code for fix in eight.fix)
    assert any("FP8" in fix.code for fix in judged(RULE, world()).finding.fix)


TO_16 = "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(p)::{lambda(float)#1}>(int)"


@pytest.mark.parametrize(("casts", "state"), [(4_000.0, State.FIRED), (6_000.0, State.CLEAR)])
def test_the_hardware_is_no_limit_while_conversions_are_left(casts: float, state: State) -> None:
    """From where PR004 tells them."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.launch(at, kernel_start=at + 20, kernel_dur=97_000 - casts, name=TENSOR, op="aten::mm")
        builder.launch(at + 10, kernel_start=at + 97_020 - casts, kernel_dur=casts, name=TO_16, op="aten::_to_copy")
    assert run(RULE, builder).state is state


@pytest.mark.parametrize(("blocks", "state"), [(8.0, State.FIRED), (0.2, State.CLEAR)])
def test_the_hardware_is_no_limit_while_most_of_it_stands_empty(blocks: float, state: State) -> None:
    """As where one kernel of few blocks is all that runs (KE001)."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.launch(
            at, kernel_start=at + 20, kernel_dur=97_000, name=TENSOR, op="aten::mm", **{"blocks per SM": blocks}
        )
    assert run(RULE, builder).state is state


@pytest.mark.parametrize(
    ("cards", "top", "idle"),
    [
        (2, {}, True),
        (1, {}, False),
        # A rank of a job sees the devices of the others.
        (2, {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2}}, False),
    ],
)
def test_devices_that_idle_are_named_where_more_would_help(cards: int, top: dict[str, Any], idle: bool) -> None:
    built = world()
    built.top |= {"deviceProperties": [dict(CUDA_DEVICE, id=number) for number in range(cards)]} | top
    fixes = judged(RULE, built).finding.fix
    assert any(f"sees {cards} devices and works on 1" in one.note for one in fixes) is idle
    assert any("More or faster devices" in one.code for one in fixes) is not idle


@pytest.mark.parametrize(("dur", "state"), [(9_000, State.CLEAR), (1_000, State.FIRED)])
def test_an_update_of_many_passes_is_left_to_shorten(dur: float, state: State) -> None:
    world = Clocked()
    for _ in world.steps(5):
        layers(world, 2)
        layers_back(world, 2)
        update_foreach(world, passes=14, dur=dur)
    outcome = run(RULE, world)
    assert outcome.state is state
    assert state is State.FIRED or "many passes of AdamW" in outcome.reason


@pytest.mark.parametrize("written", [True, False])
def test_attention_written_out_is_left_to_fuse(*, written: bool) -> None:
    softmax = (
        "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>(p)"
    )
    world = Clocked()
    for _ in world.steps(5):
        for _ in range(8):
            world.kernel_of("aten::linear/aten::mm", TENSOR, 600)
            if written:
                world.kernel_of("aten::matmul/aten::bmm", TENSOR, 150)
                world.kernel_of("aten::softmax/aten::_softmax", softmax, 150)
                world.kernel_of("aten::matmul/aten::bmm", TENSOR, 150)
    outcome = run(RULE, world)
    assert outcome.state is (State.CLEAR if written else State.FIRED)
    assert not written or "attention written out" in outcome.reason
