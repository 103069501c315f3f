"""PR006: QLoRA whose 4-bit weights are written out in bfloat16 for 30 of 90 busy milliseconds."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import TraceBuilder
from rules import RULES
from rules.precision.unpacked_weights import RULE
from running.one_rule import judged, run

UNPACK = (
    "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*, float*, __nv_bfloat16*, int, int)"
)
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"


def world(*, name: str = UNPACK, unpack: float = 30_000, trains: bool = True) -> TraceBuilder:
    """Three steps of 100 ms, busy for 90: weights are unpacked, then multiplied."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.op("MatMul4Bit", at, 60)
        builder.launch(at + 10, kernel_start=at + 2_000, kernel_dur=unpack, name=name, op=None)
        builder.launch(at + 100, kernel_start=at + 2_000 + unpack, kernel_dur=90_000 - unpack, name=GEMM, op="aten::mm")
        if trains:
            builder.optimizer(at + 95_000, 100)
    return builder


def test_fires_with_their_time_and_half_of_it_as_likely() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == pytest.approx(30e6, abs=10)
    assert found.usual_ns_per_step == pytest.approx(15e6 * 0.9, rel=0.02)
    assert found.finding.why.startswith(
        "33 % of the GPU's busy time unpacks quantised weights before products: 1 kernel a step"
    )
    assert not any("bnb_4bit_compute_dtype" in fix.code for fix in found.finding.fix)


@pytest.mark.parametrize(
    "name",
    [
        "void kDequantizeBlockwise<__half, 512, 64, 8, 1>(float*, unsigned char*, float*, __half*, int, int)",
        "void vllm::gptq::reconstruct_exllama_4bit_kernel<c10::Half>(unsigned int const*)",
        "void reconstruct_gptq_kernel<__half, 3>(unsigned int const*)",
        "vllm::awq::dequantize_weights(int*, __half*, int*, __half*, int)",
        "awq_dequantize_kernel",
        "void dequantize_4bit_u8_kernel<c10::BFloat16>(unsigned char*)",
        "void dequantize_block_q4_K<__half>(void const*, __half*)",
    ],
)
def test_unpacking_is_known_by_the_names_of_its_libraries(name: str) -> None:
    assert run(RULE, world(name=name)).state is State.FIRED


@pytest.mark.parametrize(
    "name",
    [
        "void kgemm_4bit_inference_naive<__nv_bfloat16, 128, 16>(p)",
        "void marlin::Marlin<__half, 256, 4, 16, 4>(p)",
        "void kdequant_mm_int32_fp16<4, 128, 512>(int*, float*, float*, __half*, __half*, int, int, int)",
        "void at::native::vectorized_elementwise_kernel<4, dequantize>(p)",
        "void gemm_forward_4bit_cuda_m16n128k32(p)",
    ],
)
def test_what_unpacks_inside_a_product_or_unpacks_results_does_not_count(name: str) -> None:
    assert run(RULE, world(name=name)).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("unpack", "state"), [(4_400, State.CLEAR), (4_600, State.FIRED)])
def test_boundary(unpack: float, state: State) -> None:
    assert run(RULE, world(unpack=unpack)).state is state


def test_weights_written_in_32_bits_are_told_of_the_narrower_type_first() -> None:
    wide = world(name=UNPACK.replace("__nv_bfloat16", "float"))
    assert "bnb_4bit_compute_dtype=torch.bfloat16" in judged(RULE, wide).finding.fix[0].code


@pytest.mark.parametrize("trains", [True, False])
def test_training_hears_of_passes_and_serving_of_kernels(trains: bool) -> None:
    builder = world(trains=trains)
    builder.op("_C_cache_ops::reshape_and_cache" if not trains else "aten::relu", 0, 5)
    said = " ".join(f"{fix.code} {fix.note}" for fix in judged(RULE, builder).finding.fix)
    assert ("LoRA" in said) is trains
    assert ("Marlin" in said) is not trains


def test_the_verdict_names_it_among_what_is_computed() -> None:
    verdict = explain_facts(Facts(world().trace()), rules=RULES).analysis.summary.verdict
    assert "unpacking weights 33 %" in verdict.text


def in_ops(
    *, products: int = 6, ops: tuple[str, ...] = ("aten::bitwise_and", "aten::__rshift__", "aten::mul")
) -> TraceBuilder:
    """Three steps in which ops of torch, 500 us each, stand in front of products of 5 ms."""
    pointwise = "void at::native::vectorized_elementwise_kernel<4, at::native::Functor<unsigned char>>(int)"
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        since = at + 200
        for _ in range(products):
            for op in ops:
                builder.launch(since - 150, kernel_start=since, kernel_dur=500, name=pointwise, op=op)
                since += 500
            builder.launch(since - 150, kernel_start=since, kernel_dur=5_000, name=GEMM, op="aten::mm")
            since += 5_000
    return builder


def test_weights_that_ops_of_torch_unpack_are_told_with_a_kernel_as_the_remedy() -> None:
    found = judged(RULE, in_ops())
    assert found.finding.why.startswith(
        "23 % of the GPU's busy time unpacks quantised weights before products: 18 kernels"
    )
    assert "DIFFUSERS_GGUF_CUDA_KERNELS" in found.finding.fix[0].note
    assert "torch.compile" in found.finding.fix[1].code


@pytest.mark.parametrize("ops", [("aten::mul", "aten::add"), ("aten::mul", "aten::logical_and")])
def test_pointwise_ops_in_front_of_products_that_look_at_no_bits_unpack_nothing(ops: tuple[str, ...]) -> None:
    assert run(RULE, in_ops(ops=ops)).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("op", "state"),
    [
        ("bitsandbytes::int8_vectorwise_dequant", State.FIRED),
        ("bitsandbytes::int8_mm_dequant", State.NOT_APPLICABLE),
        ("aten::mul", State.NOT_APPLICABLE),
    ],
)
def test_an_op_of_a_library_that_unpacks_is_told_whatever_it_launches(op: str, state: State) -> None:
    """LLM.int8() in vLLM: weights are multiplied by their scales in torch, inside an op of bitsandbytes."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.op(op, at + 4, 60)
        builder.launch(at + 10, kernel_start=at + 2_000, kernel_dur=30_000, op="aten::mul")
        builder.launch(at + 100, kernel_start=at + 32_000, kernel_dur=60_000, name=GEMM, op="aten::mm")
    assert run(RULE, builder).state is state
