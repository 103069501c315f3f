"""PR003: a bfloat16 model whose vocabulary of 50257 spoils its largest product, 20 of 90 busy milliseconds."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.precision.misaligned_gemm import RULE
from running.one_rule import judged, run

ALIGN1 = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>(Params)"
ALIGN8 = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_64x6_nn_align8>(Params)"
NVJET = "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN"
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(p)"


def world(
    *,
    name: str = ALIGN1,
    product: float = 20_000,
    other: float = 70_000,
    shapes: list[list[int]] | None = None,
    op: str = "aten::mm",
) -> TraceBuilder:
    """Three steps of 100 ms: one product, then pointwise work."""
    builder = TraceBuilder()
    args = {} if shapes is None else {"Input Dims": shapes, "Input type": ["c10::BFloat16"] * len(shapes)}
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.op(op, at, 50, **args)
        builder.launch(at, kernel_start=at + 2_000, kernel_dur=product, name=name, op=None)
        builder.launch(at + 100, kernel_start=at + 2_000 + product, kernel_dur=other, name=POINTWISE)
    return builder


def test_fires_by_name_with_three_quarters_of_the_time() -> None:
    found = judged(RULE, world(shapes=[[4096, 768], [768, 50257]]))
    assert found.ns_per_step == pytest.approx(20e6 * 3 / 4, abs=10)
    assert found.usual_ns_per_step == pytest.approx(20e6 / 3 * 0.9, abs=10)
    assert found.confidence is Confidence.MEDIUM
    assert "50257 -> 50264" in found.finding.fix[0].code
    assert found.finding.evidence[1].rows[0][:2] == (768, 50257)  # type: ignore[union-attr]


def test_fires_by_shape_where_names_say_nothing() -> None:
    found = judged(RULE, world(name=NVJET, shapes=[[4096, 768], [768, 50257]]))
    assert found.confidence is Confidence.LOW


# A bias stands before the two matrices, and its odd size is theirs.
@pytest.mark.parametrize(
    ("op", "odd", "even"),
    [
        ("aten::mm", [[4096, 768], [768, 50257]], [[4095, 768], [768, 50304]]),
        ("aten::bmm", [[3, 64, 129], [3, 129, 64]], [[3, 63, 128], [3, 128, 64]]),
        ("aten::addmm", [[50257], [4096, 768], [768, 50257]], [[1], [4095, 768], [768, 50304]]),
        ("aten::baddbmm", [[3, 64, 65], [3, 64, 128], [3, 128, 65]], [[3, 63, 1], [3, 63, 128], [3, 128, 64]]),
    ],
)
def test_the_sizes_that_count_are_those_of_the_two_matrices(
    op: str, odd: list[list[int]], even: list[list[int]]
) -> None:
    found = judged(RULE, world(name=NVJET, shapes=odd, op=op))
    assert found.finding.evidence[1].rows[0][:2] == (odd[-1][-2], odd[-1][-1])  # type: ignore[union-attr]
    assert run(RULE, world(name=NVJET, shapes=even, op=op)).state is State.CLEAR


def test_quiet_when_all_sizes_fit() -> None:
    assert run(RULE, world(name=NVJET, shapes=[[4095, 768], [768, 50304]])).state is State.CLEAR
    assert run(RULE, world(name=ALIGN8)).state is State.CLEAR


def test_a_simt_kernel_is_always_unaligned_and_says_nothing() -> None:
    simt = "void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)"
    assert run(RULE, world(name=simt)).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("product", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(product: float, state: State) -> None:
    assert run(RULE, world(product=product, other=95_000)).state is state


def test_cannot_tell_without_shapes_where_names_state_no_alignment() -> None:
    result = run(RULE, world(name=NVJET))
    assert result.state is State.CANNOT_TELL
    assert "record_shapes=True" in result.reason


ATTENTION = (
    "pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 32, 4, cutlass::bfloat16_t>>"
)


@pytest.mark.parametrize(
    ("ops", "text"),
    [
        (("aten::embedding", "aten::_scaled_dot_product_flash_attention"), True),
        (("aten::embedding", "aten::lstm"), True),
        # Recommendation: tables in bags, or looked up for layers that read no sequence.
        (("aten::embedding_bag", "fbgemm::split_embedding_codegen_lookup_adagrad_function"), False),
        (("aten::embedding", "aten::linear"), False),
        # Images as patches: nothing is looked up.
        (("aten::convolution", "aten::_scaled_dot_product_flash_attention"), False),
        ((), False),
    ],
)
def test_a_tokenizer_is_spoken_of_only_where_text_shows(ops: tuple[str, ...], *, text: bool) -> None:
    builder = world(shapes=[[4096, 768], [768, 50257]])
    for number in range(3):
        for index, name in enumerate(ops):
            at = number * 100_000 + 200 + index * 100
            kernel = ATTENTION if "attention" in name else POINTWISE
            builder.launch(at, kernel_start=number * 100_000 + 93_000 + index * 50, kernel_dur=40, name=kernel, op=name)
    fixes = judged(RULE, builder).finding.fix
    assert any("tokenizer" in fix.code for fix in fixes) is text
    assert ("vocabulary" in fixes[0].code) is text
    assert "50257 -> 50264" in fixes[0].code


def test_a_library_for_text_is_enough() -> None:
    builder = world(shapes=[[4096, 768], [768, 50257]])
    builder.top["advisor"] = {"frameworks": {"imported": {"transformers": "4.44"}, "loop": ["transformers.trainer"]}}
    assert any("tokenizer" in fix.code for fix in judged(RULE, builder).finding.fix)
