"""PR001: a loop whose device spends 60 of 90 busy milliseconds in float GEMMs."""

from __future__ import annotations

import pytest

from analyzer.engine import judge, reachable_ns, run_rules
from analyzer.engine.trust import TrustGrade
from analyzer.facts import Facts
from analyzer.finding import Confidence, Severity, State
from building.builders import CUDA_DEVICE, TraceBuilder
from building.dialects import rocm
from rules.precision.no_mixed_precision import RULE
from rules.precision.tf32_off import RULE as TF32_OFF
from running.one_rule import judged, run

V100 = {**CUDA_DEVICE, "name": "Tesla V100", "computeMajor": 7}
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(p)"


def world(
    *,
    matrix: float = 60_000,
    other: float = 30_000,
    kernel: str = "volta_sgemm_64x64_nt",
    types: list[str] | None = None,
    device: dict[str, object] | None = V100,
    fast: float = 0,
    lead: float = 2_000,
) -> TraceBuilder:
    """Three steps of 100 ms: a GEMM, then pointwise work, then (with `fast`) a GEMM in half precision."""
    builder = TraceBuilder(top={"deviceProperties": [device] if device else []})
    args = {} if types is None else {"Input type": types, "Input Dims": [[64, 64], [64, 64]]}
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000).zero_grad(at + 300, 1)
        builder.op("aten::mm", at, 50, **args)
        builder.launch(at, kernel_start=at + lead, kernel_dur=matrix, name=kernel, op=None)
        if other:
            builder.launch(at + 100, kernel_start=at + lead + matrix, kernel_dur=other, name=POINTWISE)
        if fast:
            name = "volta_h884gemm_64x64_ldg8_nn"
            builder.launch(at + 200, kernel_start=at + lead + matrix + other, kernel_dur=fast, name=name, op="aten::mm")
    return builder


def test_fires_with_what_the_cards_generation_may_save_of_what_keeps_the_step_waiting() -> None:
    found = judged(RULE, world(types=["float", "float"]))
    # 60 ms of GEMMs, at most seven parts of eight on a V100; usually half, times a device that is busy 90 % of the step.
    assert found.ns_per_step == pytest.approx(60e6 * 7 / 8 + 30e6 / 2, abs=10)
    assert found.usual_ns_per_step == pytest.approx(60e6 / 2 * 0.9, abs=10)
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert found.finding.why == (
        "67 % of the GPU's busy time is matrix work on 32-bit floats, none of it in TF32, by recorded input types; "
        "0 % of the matrix work is done in 16 bits."
    )


def test_from_names_alone_it_is_less_sure() -> None:
    found = judged(RULE, world())
    assert found.confidence is Confidence.MEDIUM
    assert "by kernel names" in found.finding.why


def test_an_xmma_kernel_of_plain_multiply_adds_leaves_tensor_cores_idle() -> None:
    kernel = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4"
    assert "none of it in TF32" in judged(RULE, world(kernel=kernel, device=CUDA_DEVICE)).finding.why


def test_without_the_cards_properties_it_is_a_guess() -> None:
    found = judged(RULE, world(device=None, types=["float", "float"]))
    assert found.confidence is Confidence.LOW
    assert "does not name the card" in found.finding.caveats[0]


def test_cannot_tell_which_card() -> None:
    # This kernel runs on every card ever made.
    name = "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(p)"
    result = run(RULE, world(device=None, kernel=name))
    assert result.state is State.CANNOT_TELL
    assert "deviceProperties" in result.reason


def test_quiet_when_the_op_was_given_short_floats() -> None:
    # A name that says nothing, under autocast: the op inside the cast has 16-bit inputs.
    assert run(RULE, world(kernel="void some::gemm_kernel(p)", types=["c10::Half", "c10::Half"])).state is State.CLEAR


def test_quiet_when_part_of_the_work_is_done_in_16_bits() -> None:
    assert run(RULE, world(fast=7_000)).state is State.CLEAR


@pytest.mark.parametrize(
    ("name", "state"), [("NVIDIA GeForce GTX 1660", State.NOT_APPLICABLE), ("Tesla T4", State.FIRED)]
)
def test_a_turing_card_without_tensor_cores_is_told_by_its_name(name: str, state: State) -> None:
    assert run(RULE, world(device={**V100, "name": name, "computeMinor": 5})).state is state


@pytest.mark.parametrize(
    ("device", "reason"), [({**V100, "computeMajor": 6}, "no tensor cores"), (None, "no device")], ids=["pascal", "cpu"]
)
def test_not_applicable(device: dict[str, object] | None, reason: str) -> None:
    builder = world(device=device) if device else TraceBuilder(None).step(0, 0, 10)
    if not device:
        builder.op("aten::mm", 0, 5)
    result = run(RULE, builder)
    assert result.state is State.NOT_APPLICABLE
    assert reason in result.reason


@pytest.mark.parametrize(("kind", "state"), [("SB", State.FIRED), ("BBS", State.CLEAR), ("HHS", State.CLEAR)])
def test_matrix_cores_of_amd_state_the_format_of_their_inputs(kind: str, state: State) -> None:
    name = f"Cijk_Ailk_Bjlk_{kind}_MT64x16x16_MI16x16x1_SN"
    builder = rocm(world(kernel=name, device=CUDA_DEVICE))
    result = run(RULE, builder)
    assert result.state is state
    if state is State.FIRED:
        found = judged(RULE, builder)
        assert found.ns_per_step == pytest.approx(60e6 * 15 / 16 + 30e6 / 2, abs=10)
        assert "bfloat16" in found.finding.fix[0].code
        assert "_BBS_" in found.finding.verify


def test_not_applicable_on_other_devices() -> None:
    builder = world(device=None)
    builder.top = {"schemaVersion": 1}
    for event in builder.events:
        event["name"] = event["name"].replace("cudaLaunchKernel", "urEnqueueKernelLaunch")
        event["cat"] = event["cat"].replace("cuda_runtime", "xpu_runtime")
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("matrix", "state"), [(9_900, State.CLEAR), (10_100, State.FIRED)])
def test_boundary(matrix: float, state: State) -> None:
    assert run(RULE, world(matrix=matrix, other=100_000 - 10_000, lead=0)).state is state


@pytest.mark.parametrize(("fast", "state"), [(3_000, State.FIRED), (3_300, State.CLEAR)])
def test_boundary_of_16_bits(fast: float, state: State) -> None:
    # 3.0 of 63.0 and 3.3 of 63.3 ms in half precision.
    assert run(RULE, world(fast=fast)).state is state


def test_nothing_is_likely_to_be_saved_when_launch_bound() -> None:
    found = judged(RULE, world(matrix=40_000, other=0, lead=7))
    assert (found.usual_ns_per_step, found.severity) == (0, Severity.INFO)
    # That is no bound: where something else waits for the kernels after all, as much as they get shorter.
    assert found.ns_per_step == pytest.approx(40e6 * 7 / 8, abs=10)


def test_what_the_host_waits_for_is_likely_to_be_saved_when_launch_bound() -> None:
    builder = world(matrix=40_000, other=0, lead=7)
    for number in range(3):
        # The end of each step reads the loss: the host stands there for half of the kernel.
        builder.runtime("cudaStreamSynchronize", number * 100_000.0 + 20_007, 20_000)
    found = judged(RULE, builder)
    assert found.usual_ns_per_step == pytest.approx(20e6 / 2, rel=0.01)
    assert found.severity is Severity.MEDIUM


def test_the_fix_fits_the_generation() -> None:
    assert "GradScaler" in judged(RULE, world()).finding.fix[0].code
    ampere = judged(RULE, world(device=CUDA_DEVICE)).finding
    assert "bfloat16" in ampere.fix[0].code


def test_where_tf32_is_off_the_bound_is_its_own_and_both_together_save_the_larger() -> None:
    builder = world(device=CUDA_DEVICE)
    facts, trust = Facts(builder.trace()), TrustGrade((), True, 3)
    # Sixteen times as fast, eight times with TF32: 60 ms less a sixteenth, and less an eighth; 16 bits halve 30 ms more.
    together = judge(facts, run_rules(facts, (RULE, TF32_OFF), trust), trust)
    assert {item.rule.meta.code: item.ns_per_step for item in together} == {
        "PR001": pytest.approx(60e6 * 15 / 16 + 30e6 / 2, abs=10),
        "PR002": pytest.approx(60e6 * 7 / 8, abs=10),
    }
    assert reachable_ns(facts, together) == pytest.approx(100e6 - 60e6 * 15 / 16 - 30e6 / 2, abs=10)


TF32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas"
FLOAT_ATTENTION = (
    "fmha_cutlassF_f32_aligned_64x64_rf_sm70(AttentionKernel<float, cutlass::arch::Sm70, true, 64, 64, 64>::Params)"
)


def test_tf32_is_half_as_fast_as_16_bits_and_moves_twice_the_bytes() -> None:
    found = judged(RULE, world(device=CUDA_DEVICE, kernel=TF32))
    # Half of 60 ms of GEMMs and of 30 ms of pointwise kernels.
    assert found.ns_per_step == pytest.approx((60e6 + 30e6) / 2, abs=10)
    assert found.severity is Severity.HIGH
    assert "100 % of it in TF32" in found.finding.why
    typed = judged(RULE, world(device=CUDA_DEVICE, kernel=TF32, types=["float", "float"]))
    assert typed.confidence is Confidence.MEDIUM
    assert "half the bytes" in found.finding.saving.basis


def test_what_usually_comes_of_tf32_is_a_part_of_what_may() -> None:
    found = judged(RULE, world(device=CUDA_DEVICE, kernel=TF32))
    # 60 ms of products and 30 ms beside them, at most half; on an A100 with T5 bfloat16 brought 4 to 6 % of a step.
    assert found.ns_per_step >= (60e6 + 30e6) / 2
    assert found.usual_ns_per_step == pytest.approx((60e6 + 30e6) / 4 * 0.9, rel=0.01)


def test_a_kernel_that_states_no_format_rounds_the_floats_its_op_was_given() -> None:
    name = "void cutlass::Kernel2<cutlass_80_tensorop_unstated>(Params)"
    assert judged(RULE, world(device=CUDA_DEVICE, kernel=name, types=["float", "float"])).severity is Severity.HIGH
    assert run(RULE, world(device=CUDA_DEVICE, kernel=name)).state is State.CLEAR


def test_at_most_holds_where_pointwise_kernels_are_most_of_the_step() -> None:
    found = judged(RULE, world(matrix=20_000, other=75_000, types=["float", "float"]))
    # Autocast may halve the 75 ms as well, and with half of the 20 ms of products bring more than those take.
    assert found.ns_per_step >= 20e6 / 2 + 75e6 / 2
    # What usually comes is of the products.
    assert found.usual_ns_per_step <= 20e6 / 2


def test_fused_attention_on_floats_is_no_16_bit_work() -> None:
    builder = world()
    for number in range(3):
        at = number * 100_000.0
        builder.launch(
            at + 200, kernel_start=at + 92_000, kernel_dur=6_000, name=FLOAT_ATTENTION, op="aten::_efficient_attention"
        )
    # 60 ms of GEMMs, 6 ms of attention and 30 ms of pointwise kernels, the device busy for 96 of 100 ms.
    assert judged(RULE, builder).ns_per_step == pytest.approx(66e6 * 7 / 8 + 30e6 / 2, abs=10)


@pytest.mark.parametrize(
    ("torch", "scaler"), [("2.2.0", "torch.cuda.amp.GradScaler()"), ("2.3.0", "torch.amp.GradScaler")]
)
def test_the_scaler_has_the_name_of_the_torch_in_use(torch: str, scaler: str) -> None:
    builder = world()
    builder.top["advisor"] = {"versions": {"torch": torch}}
    (advice,) = judged(RULE, builder).finding.fix
    assert scaler in advice.code
    assert "Needs" not in advice.note


def test_an_unknown_torch_is_told_both_names() -> None:
    (advice,) = judged(RULE, world()).finding.fix
    assert "torch 2.3" in advice.note
