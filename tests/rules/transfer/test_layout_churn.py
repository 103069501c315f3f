"""XF005: a fifth of the device's time goes into making tensors contiguous."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.transfer.layout_churn import RULE
from running.one_rule import judged, run


def world(
    *, moving: float = 2_000, op: str = "aten::contiguous", lead: float = 1_000, beside: bool = False
) -> TraceBuilder:
    """Four steps of 10 ms whose kernels were launched long before: one of `op`, then one of a convolution.

    With `beside` another stream computes under the first kernel.
    """
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.op("aten::contiguous" if op == "aten::contiguous" else "aten::mul", at, 40)
        builder.launch(at + 5, kernel_start=at + lead, kernel_dur=moving, op=op, name="elementwise_copy")
        if beside:
            builder.launch(at + 60, kernel_start=at + lead, kernel_dur=moving, op="aten::mm", stream=20, name="gemm")
        rest = 10_000 - moving
        builder.launch(at + 100, kernel_start=at + lead + moving, kernel_dur=rest, op="aten::conv2d", name="conv")
    return builder


def test_fires_with_the_device_time_as_bound() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == pytest.approx(2_000_000, rel=0.05)
    assert found.confidence is Confidence.MEDIUM
    assert "`aten::contiguous` (1 time a step)" in found.finding.why


def test_no_saving_is_likely_where_the_device_waits_for_launches() -> None:
    builder = TraceBuilder()
    for number in range(4):
        at = number * 1_000
        builder.step(number, at, 1_000)
        for index in range(10):
            begin = at + index * 100
            builder.launch(begin, kernel_start=begin + 8, kernel_dur=20, op="aten::contiguous")
    found = judged(RULE, builder)
    assert found.usual_ns_per_step == 0
    assert "waits for each launch" in found.finding.saving.basis


@pytest.mark.parametrize(("source", "told"), [("c10::BFloat16", True), ("float", False)])
def test_what_types_prove_to_be_a_cast_is_no_copy(source: str, *, told: bool) -> None:
    """A kernel that walks through strides has the same name for both."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.op("aten::to", at, 40)
        types = {"Input type": ["c10::BFloat16", source], "Input Dims": [[64, 64], [64, 64]]}
        builder.op("aten::copy_", at + 2, 30, **types)
        name = "void at::native::elementwise_kernel<128, 4, gpu_kernel_impl<direct_copy_kernel_cuda(p)>>"
        builder.launch(at + 5, kernel_start=at + 1_000, kernel_dur=2_000, op=None, name=name)
        builder.launch(at + 100, kernel_start=at + 3_000, kernel_dur=8_000, op="aten::conv2d", name="conv")
    assert (run(RULE, builder).state is State.FIRED) is told


@pytest.mark.parametrize(("moving", "state"), [(950, State.CLEAR), (1_050, State.FIRED)])
def test_boundary(moving: float, state: State) -> None:
    assert run(RULE, world(moving=moving)).state is state


@pytest.mark.parametrize(("graphs", "told"), [(True, True), (False, False)])
def test_copies_to_where_a_graph_reads_its_inputs_have_another_remedy(graphs: bool, told: bool) -> None:
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.op("CompiledFunction", at, 200)
        builder.copy("DtoD", at + 5, 20, start=at + 1_000, dur=2_000)
        call = builder.runtime("cudaGraphLaunch" if graphs else "cudaLaunchKernel", at + 100, 50)
        builder.kernel("ampere_sgemm_128x64_nn", at + 3_000, 7_500, correlation=call)
    fixes = judged(RULE, builder).finding.fix
    assert any("mark_static_address" in fix.code for fix in fixes) is told
    assert any(".contiguous()" in fix.code for fix in fixes) is not told


def test_quiet_when_the_time_is_computing() -> None:
    assert run(RULE, world(op="aten::mul")).state is State.CLEAR


def test_quiet_beside_other_kernels() -> None:
    assert run(RULE, world(beside=True)).state is State.CLEAR


def test_copies_within_the_device_count() -> None:
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.copy("DtoD", at, 5, start=at + 1_000, dur=3_000)
        builder.launch(at + 100, kernel_start=at + 4_000, kernel_dur=7_000, op="aten::conv2d", name="conv")
    assert run(RULE, builder).state is State.FIRED


def test_cannot_tell_without_ops() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 10_000)
    builder.launch(0, kernel_start=10, kernel_dur=9_000, op=None)
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_advises_nothing_the_program_has_no_use_for_or_does_already() -> None:
    builder = world()
    for event in builder.events:
        if event["name"] in ("aten::conv2d", "conv"):
            event["name"] = event["name"].replace("conv2d", "mm").replace("conv", "ampere_sgemm_128x64_nn")
    builder.launch(50, kernel_start=9_990, kernel_dur=5, op=None, name="triton_poi_fused_add_0")
    fix = " ".join(advice.code for advice in judged(RULE, builder).finding.fix)
    assert "channels_last" not in fix
    assert "torch.compile" not in fix
    assert "channels_last" in " ".join(advice.code for advice in judged(RULE, world()).finding.fix)


CHANNELS_LAST = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_warpsize2x2x1_g1"
)


@pytest.mark.parametrize(("converts", "told"), [(False, True), (True, False)])
def test_convolutions_that_have_channels_last_are_not_told_to(converts: bool, told: bool) -> None:
    builder = world()
    for event in builder.events:
        if event["name"] == "conv":
            event["name"] = CHANNELS_LAST
    if converts:
        for number in range(4):
            at = number * 10_000
            builder.launch(at + 60, kernel_start=at + 1_900, kernel_dur=900, op=None, name="nchwToNhwcKernel", stream=9)
    fix = " ".join(advice.code for advice in judged(RULE, builder).finding.fix)
    assert ("a view, contiguous already" in fix) is told
    assert ("memory_format=torch.channels_last" in fix) is not told


@pytest.mark.parametrize(("name", "told"), [("flash_fwd_splitkv_kernel", True), ("gemm", False)])
def test_a_cache_that_is_concatenated_for_each_token_is_made_once(name: str, told: bool) -> None:
    builder = world(op="aten::cat", moving=3_000)
    for number in range(4):
        builder.launch(
            number * 10_000 + 120, kernel_start=number * 10_000 + 900, kernel_dur=50, op="aten::mm", name=name
        )
    fixes = judged(RULE, builder).finding.fix
    assert any("cache" in (fix.note or "") for fix in fixes) is told


def test_a_program_that_trains_keeps_no_cache() -> None:
    builder = world(op="aten::cat", moving=3_000)
    builder.launch(130, kernel_start=900, kernel_dur=50, op="aten::mm", name="flash_fwd_kernel")
    builder.optimizer(9_000, 100)
    assert not any("cache" in (fix.note or "") for fix in judged(RULE, builder).finding.fix)


@pytest.mark.parametrize(
    ("inside", "pieces", "told"),
    [
        ("aten::_cudnn_rnn", 8, True),
        ("aten::miopen_rnn", 8, True),
        ("aten::_cudnn_rnn", 2, False),
        ("aten::mul", 8, False),
    ],
    ids=["weights", "weights, MIOpen", "states", "another op"],
)
def test_weights_that_a_recurrent_network_copies_are_kept_as_one_piece(inside: str, pieces: int, *, told: bool) -> None:
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.op(inside, at, 500)
        for index in range(pieces):
            start = at + 1_000 + index * 3_000 / pieces
            builder.launch(at + 5 + index * 20, kernel_start=start, kernel_dur=3_000 / pieces - 1, op="aten::copy_")
        builder.launch(at + 490, kernel_start=at + 4_000, kernel_dur=6_900, name="ampere_sgemm_128x64_nn", op=None)
    fixes = judged(RULE, builder).finding.fix
    assert any("flatten_parameters()" in fix.code for fix in fixes) is told
    assert any(".contiguous()" in fix.code for fix in fixes) is not told
