"""PR004: conversions from float to bfloat16 take 9 of 90 busy milliseconds."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.precision.cast_churn import RULE
from running.one_rule import judged, run

COPY = "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(p)>"
CAST = "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(p)>"
GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_nn"


def world(
    *,
    cast: float = 9_000,
    rest: float = 81_000,
    name: str = COPY,
    types: list[str] | None = None,
    in_optimizer: bool = False,
    product: str = GEMM,
) -> TraceBuilder:
    """Three steps of 100 ms: a conversion below aten::to, then a product."""
    builder = TraceBuilder()
    args = {} if types is None else {"Input type": types, "Input Dims": [[8, 8], [8, 8], []]}
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        if in_optimizer:
            builder.optimizer(at, 90)
        builder.op("aten::to", at, 60)
        builder.op("aten::_to_copy", at + 1, 50)
        builder.op("aten::copy_", at + 2, 40, **args)
        builder.launch(at + 10, kernel_start=at + 2_000, kernel_dur=cast, name=name, op=None)
        builder.launch(at + 100, kernel_start=at + 2_000 + cast, kernel_dur=rest, name=product, op="aten::mm")
    return builder


TYPES = ["c10::BFloat16", "float", "Scalar"]


def test_fires_with_their_time() -> None:
    found = judged(RULE, world(types=TYPES))
    assert found.ns_per_step == pytest.approx(9e6, abs=10)
    assert found.usual_ns_per_step == pytest.approx(9e6 * 0.9, abs=10)
    assert found.confidence is Confidence.HIGH
    assert "1 kernel a step" in found.finding.why


def test_by_name_it_is_less_sure() -> None:
    assert judged(RULE, world(name=CAST)).confidence is Confidence.MEDIUM


@pytest.mark.parametrize(
    ("formats", "state"),
    [
        ("float, c10::BFloat16", State.FIRED),
        ("c10::Half, float", State.FIRED),
        ("bool, float", State.CLEAR),
        ("long, c10::complex<float>", State.CLEAR),
    ],
)
def test_a_name_may_state_both_formats(formats: str, state: State) -> None:
    name = f"void at::native::vectorized_elementwise_kernel<4, at::native::converting_copy_kernel_cuda<{formats}>(p)>"
    assert run(RULE, world(name=name)).state is state


def test_copies_that_convert_nothing_do_not_count() -> None:
    assert run(RULE, world(types=["float", "float", "Scalar"])).state is State.CLEAR
    assert run(RULE, world()).state is State.CLEAR


def test_master_weights_of_the_optimizer_are_wanted() -> None:
    assert run(RULE, world(types=TYPES, in_optimizer=True)).state is State.CLEAR


@pytest.mark.parametrize(("cast", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(cast: float, state: State) -> None:
    assert run(RULE, world(cast=cast, rest=97_000 - cast + 3_000, types=TYPES)).state is state


def test_not_applicable_where_nothing_is_16_bit() -> None:
    result = run(RULE, world(types=["float", "double"], product="volta_sgemm_64x64_nt"))
    assert result.state is State.NOT_APPLICABLE


EIGHT = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::float8_copy_kernel_cuda(at::TensorIteratorBase&)>"
)


@pytest.mark.parametrize(("name", "eight"), [(EIGHT, True), (CAST, False)])
def test_conversions_that_products_of_8_bits_ask_for_are_fused_and_not_removed(name: str, *, eight: bool) -> None:
    found = judged(RULE, world(name=name)).finding
    assert ("between 32, 16 and 8 bits" in found.why) is eight
    assert any(".float()" in advice.code for advice in found.fix) is not eight
    assert any("torch.compile" in advice.code for advice in found.fix)


def compiled(name: str, *, part: float = 100) -> Clocked:
    """A compiled layer, twelve times a step: a kernel of the compiler's beside a product of 500 us."""
    world = Clocked()
    for _ in world.steps(4):
        with world.within("Torch-Compiled Region: 0/0"):
            for _ in range(12):
                world.kernel_of(None, name, part, api="cuLaunchKernel", call=5)
                world.kernel_of("aten::mm", GEMM, 500)
    return world


@pytest.mark.parametrize("name", ["triton_poi_fused__to_copy_0", "triton_poi_fused__to_copy_t_12"])
def test_the_compilers_kernels_that_only_convert_are_conversions(name: str) -> None:
    found = judged(RULE, compiled(name)).finding
    code = "\n".join(advice.code for advice in found.fix)
    assert "17 % of the GPU's busy time converts" in found.why
    assert "enabled=False" in code
    # It is compiled already.
    assert "torch.compile" not in code


@pytest.mark.parametrize(
    "name",
    [
        "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1",
        "triton_poi_fused__to_copy_mul_silu_3",
        "triton_poi_fused_add_2",
    ],
)
def test_a_conversion_that_the_compiler_fused_is_none(name: str) -> None:
    assert run(RULE, compiled(name)).state is State.CLEAR


def autocast(inputs: int, *, nested: bool = True, marks: bool = True) -> Clocked:
    """Layers of which so many inputs each are converted: by autocast, inside the op; or by the program, in front of it."""
    world = Clocked(marks=marks)
    to = "aten::to/aten::_to_copy/aten::copy_"
    for _ in world.steps(5):
        for _ in range(12):
            with world.within("aten::linear") if nested else nullcontext():
                for _ in range(inputs):
                    world.kernel_of(to, CAST, 60 / inputs, host=25)
                world.kernel_of("aten::linear/aten::addmm", GEMM, 150, host=20)
        if not marks:
            world.copied("DtoH", 4_096)
            continue
        with world.backward():
            for _ in range(12):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", GEMM, 300, host=20)
                with world.node("ToCopyBackward0"):
                    world.kernel_of(to, CAST, 20, host=25)
    return world


def test_what_autocast_converts_is_told_and_no_float_is_looked_for() -> None:
    found = judged(RULE, autocast(3)).finding
    assert "Autocast asks for 100 % of those outside the backward pass" in found.why
    assert "weights, once a pass, and inputs" in found.why
    assert "x.float()" not in " ".join(one.code for one in found.fix)
    assert "torch.compile" in found.fix[0].code


def test_a_model_that_only_runs_has_its_weights_converted_once() -> None:
    found = judged(RULE, autocast(2, marks=False)).finding
    assert "weights, anew in each pass, and inputs" in found.why
    assert "model.to(torch.bfloat16)" in found.fix[0].code


def test_of_a_single_input_it_is_not_said_which_it_is() -> None:
    found = judged(RULE, autocast(1)).finding
    assert "in front of layers: weights or inputs" in found.why
    assert "leave autocast out" in " ".join(one.code for one in found.fix)


def test_what_the_program_converts_is_not_autocasts() -> None:
    found = judged(RULE, autocast(3, nested=False)).finding
    assert "Autocast" not in found.why
    assert "x.float()" in found.fix[0].code
