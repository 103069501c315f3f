"""GR001: three elementwise kernels in a row take 30 of 90 busy milliseconds."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from building.dialects import torch_1_9
from rules.graph.unfused_pointwise import RULE
from running.one_rule import judged, run

POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(p)"
NORM = "void at::native::batch_norm_transform_input_kernel<float, float, float, true, int>(p)"
GEMM = "volta_sgemm_64x64_nt"


def world(
    *,
    pointwise: float = 30_000,
    other: float = 60_000,
    apart: bool = False,
    shapes: tuple[int, ...] | None = (8, 8, 8),
    name: str = POINTWISE,
    in_optimizer: bool = False,
) -> TraceBuilder:
    """Three steps of 100 ms: three pointwise kernels (with `apart`, products between them) and a product."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        if in_optimizer:
            builder.optimizer(at, 1_000)
        clock = at + 2_000
        for index in range(3):
            args = {"Input Dims": [[shapes[index], 4]], "Input type": ["float"]} if shapes else {}
            builder.op("aten::relu", at + index * 100, 50, **args)
            builder.launch(at + index * 100, kernel_start=clock, kernel_dur=pointwise / 3, name=name, op=None)
            clock += pointwise / 3
            if apart:
                builder.launch(
                    at + index * 100 + 60, kernel_start=clock, kernel_dur=other / 3, name=GEMM, op="aten::mm"
                )
                clock += other / 3
        if not apart:
            builder.launch(at + 400, kernel_start=clock, kernel_dur=other, name=GEMM, op="aten::mm")
    return builder


def test_fires_with_half_of_the_runs() -> None:
    found = judged(RULE, world())
    # Of three kernels one is left: the data make one pass even when they are fused.
    assert found.ns_per_step == pytest.approx(20e6, abs=10)
    assert found.usual_ns_per_step == pytest.approx(30e6 * 0.5 * 0.9, abs=10)
    assert found.confidence is Confidence.MEDIUM
    assert "the longest of 3 kernels" in found.finding.why


@pytest.mark.parametrize("shapes", [(8, 8, 8), None])
def test_norms_of_tensors_one_after_another_are_no_run(shapes: tuple[int, ...] | None) -> None:
    """The next one reads another tensor, not the number that the last one made: no compiler of the model fuses them."""
    norm = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float>>>(p)"
    assert run(RULE, world(name=norm, shapes=shapes)).state is State.CLEAR


def test_concatenations_of_several_tensors_are_no_run_but_what_makes_their_parts_is() -> None:
    """A cache of keys and values grows by two of them: neither reads what the other made."""
    joined = "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<uint4>(p)"
    assert run(RULE, world(name=joined)).state is State.CLEAR
    assert run(RULE, world(name=joined, shapes=None)).state is State.CLEAR
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        for index, name in enumerate((POINTWISE, joined, joined)):
            begin = at + 2_000 + index * 10_000
            builder.launch(at + index * 100, kernel_start=begin, kernel_dur=10_000, name=name)
        builder.launch(at + 400, kernel_start=at + 32_000, kernel_dur=60_000, name=GEMM, op="aten::mm")
    assert "the longest of 2 kernels" in judged(RULE, builder).finding.why


def test_a_reduction_between_others_belongs_to_their_run() -> None:
    builder = TraceBuilder()
    total = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>(p)"
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        for index, name in enumerate((POINTWISE, total, POINTWISE)):
            begin = at + 2_000 + index * 10_000
            builder.launch(at + index * 100, kernel_start=begin, kernel_dur=10_000, name=name)
        builder.launch(at + 400, kernel_start=at + 32_000, kernel_dur=60_000, name=GEMM, op="aten::mm")
    assert "the longest of 3 kernels" in judged(RULE, builder).finding.why


def test_a_template_of_the_compiler_tells_that_it_is_at_work() -> None:
    builder = world()
    builder.launch(50_000, kernel_start=95_000, kernel_dur=100, name="triton_tem_fused_addmm_relu_3", op="aten::addmm")
    assert run(RULE, builder).state is State.CLEAR


@pytest.mark.parametrize(("long", "usual_us"), [(10_000, 15_000), (28_000, 2_000)])
def test_one_that_takes_far_longer_than_its_neighbours_is_not_likely_to_go(long: float, usual_us: float) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = clock = number * 100_000.0
        builder.step(number, at, 100_000)
        for index, dur in enumerate((long, (30_000 - long) / 2, (30_000 - long) / 2, 60_000)):
            name, op = (POINTWISE, "aten::relu") if index < 3 else (GEMM, "aten::mm")
            builder.op(op, at + index * 100, 50, **{"Input Dims": [[8, 4]], "Input type": ["float"]})
            builder.launch(at + index * 100, kernel_start=clock + 2_000, kernel_dur=dur, name=name, op=None)
            clock += dur
    assert judged(RULE, builder).usual_ns_per_step == pytest.approx(usual_us * 1_000 * 0.9, abs=10)


@pytest.mark.parametrize(
    ("name", "torch", "state"),
    [
        (NORM, "1.13.1", State.CLEAR),  # scripting is all there is, and fuses arithmetic
        (NORM, "2.4.0", State.FIRED),
        (NORM, None, State.FIRED),
        (POINTWISE, "1.13.1", State.FIRED),
    ],
)
def test_without_a_compiler_normalisation_stays_as_it_is(name: str, torch: str | None, state: State) -> None:
    builder = world(name=name)
    builder.top["advisor"] = {"versions": {"torch": torch}} if torch else {}
    result = run(RULE, builder)
    assert result.state is state
    assert state is State.FIRED or "normalisation" in result.reason


def test_kernels_on_other_shapes_are_no_run() -> None:
    assert judged(RULE, world(shapes=(8, 16, 16))).usual_ns_per_step == pytest.approx(20e6 * 0.5 * 0.9, abs=10)


def test_of_a_run_its_shortest_kernel_stays() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        clock = at + 1_000
        for index, dur in enumerate((40_000, 10_000, 30_000)):
            builder.op("aten::relu", at + index * 100, 50, **{"Input Dims": [[8, 4]], "Input type": ["float"]})
            builder.launch(at + index * 100, kernel_start=clock, kernel_dur=dur, name=POINTWISE, op=None)
            clock += dur
    assert judged(RULE, builder).ns_per_step == pytest.approx(70e6, abs=10)


@pytest.mark.parametrize(("kernels", "state"), [(1, State.CLEAR), (2, State.FIRED)])
def test_a_run_ends_with_its_step(kernels: int, state: State) -> None:
    """The device works without a pause, so that the last kernel of a step is followed by the first of the next."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        for index in range(kernels):
            builder.launch(
                at + 500 + index * 100,
                kernel_start=at + 1_000 + index * 100_000 / kernels,
                kernel_dur=100_000 / kernels,
                name=POINTWISE,
                op="aten::relu",
            )
    result = run(RULE, builder)
    assert result.state is state
    if state is State.CLEAR:
        assert "none of them follows another in its step" in result.reason


def test_quiet_when_products_stand_between_them() -> None:
    result = run(RULE, world(apart=True))
    assert result.state is State.CLEAR
    assert "none of them follows another" in result.reason


def test_without_shapes_it_is_less_sure() -> None:
    assert judged(RULE, world(shapes=None)).confidence is Confidence.LOW


def test_the_optimizers_kernels_belong_to_other_rules() -> None:
    assert run(RULE, world(in_optimizer=True)).state is State.CLEAR


def test_quiet_where_a_compiler_is_at_work() -> None:
    builder = world()
    builder.op("Torch-Compiled Region: 0/0", 5, 10)
    assert run(RULE, builder).state is State.CLEAR


@pytest.mark.parametrize(("pointwise", "state"), [(19_800, State.CLEAR), (20_400, State.FIRED)])
def test_boundary(pointwise: float, state: State) -> None:
    assert run(RULE, world(pointwise=pointwise, other=90_000 * 1.1111 - pointwise)).state is state


def test_cannot_tell_where_names_say_nothing() -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.launch(0, kernel_start=10, kernel_dur=80, name="pe_exe")
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_a_torch_without_a_compiler_is_told_to_script() -> None:
    assert "torch.compile" in judged(RULE, world()).finding.fix[0].code
    (fix,) = judged(RULE, torch_1_9(world())).finding.fix
    assert fix.code.startswith("@torch.jit.script")
    assert "older than 2.0" in fix.note


@pytest.mark.parametrize(("value", "told"), [("1", True), ("0", False)])
def test_a_variable_that_keeps_torch_from_compiling_is_told(value: str, told: bool) -> None:
    builder = world()
    builder.top["advisor"] = {"environment": {"TORCHDYNAMO_DISABLE": value}}
    (fix,) = judged(RULE, builder).finding.fix
    assert ("nothing is compiled" in (fix.note or "")) is told


@pytest.mark.parametrize(("other", "state"), [(0, State.CANNOT_TELL), (10_000, State.FIRED)])
def test_one_kernel_again_and_again_may_be_a_measurement_of_it(other: float, state: State) -> None:
    """Ten calls of one op in a row, alone or beside a product."""
    builder = TraceBuilder()
    for index in range(10):
        builder.op("aten::add", index * 100, 50, **{"Input Dims": [[8192, 8192]] * 2, "Input type": ["float"] * 2})
        builder.launch(index * 100 + 5, kernel_start=2_000 + index * 4_000, kernel_dur=4_000, name=POINTWISE, op=None)
    if other:
        builder.launch(1_100, kernel_start=42_000, kernel_dur=other, name=GEMM, op="aten::mm")
    assert run(RULE, builder).state is state
