"""PR002: float GEMMs without TF32 for 60 of 90 busy milliseconds on an H100."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import CUDA_DEVICE, TraceBuilder
from rules.precision.tf32_off import RULE
from running.one_rule import judged, run
from stories.of_first_sight import STORIES

POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(p)"
TF32 = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x4_nt_align4>(p)"


def world(
    *, matrix: float = 60_000, other: float = 30_000, tf32: float = 0, op: str = "aten::mm", major: int | None = 9
) -> TraceBuilder:
    """Three steps of 100 ms: a float GEMM (of `op`), pointwise work, and with `tf32` a GEMM in TF32."""
    builder = TraceBuilder(top={"deviceProperties": [{**CUDA_DEVICE, "computeMajor": major}] if major else []})
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.launch(at, kernel_start=at + 2_000, kernel_dur=matrix, name="volta_sgemm_64x64_nt", op=op)
        builder.launch(at + 100, kernel_start=at + 2_000 + matrix, kernel_dur=other, name=POINTWISE)
        if tf32:
            builder.launch(
                at + 200, kernel_start=at + 2_000 + matrix + other, kernel_dur=tf32, name=TF32, op="aten::mm"
            )
    return builder


def test_fires_with_what_the_cards_generation_may_save() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == pytest.approx(60e6 * 7 / 8, abs=10)
    assert found.usual_ns_per_step == pytest.approx(60e6 / 2 * 0.9, abs=10)
    assert found.confidence is Confidence.MEDIUM
    assert "set_float32_matmul_precision" in found.finding.fix[0].code


def test_convolutions_have_a_switch_of_their_own() -> None:
    assert "cudnn.allow_tf32" in judged(RULE, world(op="aten::cudnn_convolution")).finding.fix[0].code
    # TF32 products say nothing of convolutions.
    assert run(RULE, world(op="aten::cudnn_convolution", tf32=5_000)).state is State.FIRED


def test_quiet_when_tf32_is_on_and_the_library_chose_otherwise() -> None:
    assert run(RULE, world(tf32=5_000)).state is State.CLEAR


@pytest.mark.parametrize(("matrix", "state"), [(9_900, State.CLEAR), (10_100, State.FIRED)])
def test_boundary(matrix: float, state: State) -> None:
    assert run(RULE, world(matrix=matrix, other=90_000)).state is state


def test_an_older_card_has_no_tf32() -> None:
    assert run(RULE, world(major=7)).state is State.NOT_APPLICABLE


def test_cannot_tell_without_the_card() -> None:
    assert run(RULE, world(major=None)).state is State.CANNOT_TELL


@pytest.mark.parametrize(
    ("torch", "now"), [("2.8.0", "cudnn.allow_tf32 = True"), ("2.9.0", 'conv.fp32_precision = "tf32"')]
)
def test_convolutions_have_the_switch_of_the_torch_in_use(torch: str, now: str) -> None:
    builder = world(op="aten::cudnn_convolution")
    builder.top["advisor"] = {"versions": {"torch": torch}}
    first, _ = judged(RULE, builder).finding.fix
    assert now in first.code


def test_products_of_attention_that_torch_writes_out_itself_are_left_to_the_rule_on_attention() -> None:
    builder = next(one for one in STORIES if one.name == "SDPA's MATH backend").make()
    result = run(RULE, builder)
    assert result.state is State.CLEAR
    assert "writes out itself" in result.reason
    for event in builder.events:
        event["name"] = event["name"].replace("aten::_scaled_dot_product_attention_math", "my::attention")
    assert run(RULE, builder).state is State.FIRED
