"""CP002: 32-bit matrix work on a processor with AMX, or a model that changes layouts at each layer."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Confidence, Figure, State
from building.builders import TraceBuilder
from rules.cpu.no_cpu_fast_path import RULE
from running.one_rule import judged, run

AMX = ["avx2", "avx512f", "avx512_bf16", "amx_bf16"]


def world(
    *, matrix: float = 5_000, reorder: float = 0, features: list[str] | None = AMX, kind: str | None = "float"
) -> TraceBuilder:
    """Three steps of 10 ms: reorder, multiply, something else."""
    builder = TraceBuilder(None, advisor={"cpu_features": features} if features is not None else None)
    shapes = {"Input Dims": [[64, 128], [128, 10]], "Input type": [kind, kind]} if kind else {}
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        if reorder:
            builder.op("aten::to_mkldnn", at, reorder)
        builder.op("aten::addmm", at + reorder, matrix, **shapes)
        builder.op("aten::relu", at + reorder + matrix, 10_000 - matrix - reorder)
    return builder


@pytest.mark.parametrize("kind", ["c10::BFloat16", "c10::Half"])
def test_sixteen_bits_without_units_for_them_are_slow(kind: str) -> None:
    found = judged(RULE, world(features=["avx2"], kind=kind))
    assert found.ns_per_step == pytest.approx(5_000_000 * 0.9, abs=2)
    assert found.confidence is Confidence.MEDIUM
    assert found.finding.title == "16-bit floats without units for them"
    assert "Matrix work on 16-bit floats takes 5.0 ms of each 10 ms step (50 %)" in found.finding.why
    assert any("-with torch.autocast" in fix.code for fix in found.finding.fix)


# oneDNN multiplies them by AVX-512, with units or without; of other processors nothing was measured.
@pytest.mark.parametrize("features", [["avx2", "avx512f"], AMX, []])
def test_quiet_about_sixteen_bits_where_they_have_a_fast_path(features: list[str]) -> None:
    assert run(RULE, world(features=features, kind="c10::BFloat16")).state is State.CLEAR


@pytest.mark.parametrize(("matrix", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary_of_work_in_sixteen_bits(matrix: float, state: State) -> None:
    assert run(RULE, world(matrix=matrix, features=["avx2"], kind="c10::Half")).state is state


def untyped(*, weights: int, converted: int, **told: Any) -> TraceBuilder:
    """The same without types: behind the product so many gradients, of which some come back through a conversion."""
    builder = TraceBuilder(None, advisor={"cpu_features": ["avx2"]} | told)
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.op("aten::addmm", at, 5_000)
        for index in range(weights):
            start = at + 6_000 + 100 * index
            if index < converted:
                builder.op("autograd::engine::evaluate_function: ToCopyBackward0", start, 20)
            builder.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", start + 30, 20)
    return builder


def test_autocast_shows_in_gradients_that_are_converted_back() -> None:
    found = judged(RULE, untyped(weights=6, converted=2))
    assert found.ns_per_step == pytest.approx(5_000_000 * 0.9, abs=2)
    assert found.confidence is Confidence.LOW
    assert "33 % of the weights are converted in each step" in found.finding.why


@pytest.mark.parametrize(("converted", "state"), [(1, State.CLEAR), (2, State.FIRED)])
def test_boundary_of_converted_weights(converted: int, state: State) -> None:
    assert run(RULE, untyped(weights=8, converted=converted)).state is state


@pytest.mark.parametrize(
    ("loop", "words"), [("transformers.trainer", "bf16=False"), ("lightning.pytorch", 'precision="32-true"')]
)
def test_a_trainer_is_told_by_its_setting(loop: str, words: str) -> None:
    frameworks = {"imported": {loop.split(".")[0]: None}, "loop": [loop], "data": []}
    assert words in judged(RULE, untyped(weights=2, converted=2, frameworks=frameworks)).finding.fix[0].code


def test_fires_with_the_units_peak_rate_as_bound() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == pytest.approx(5_000_000 * 15 / 16, abs=2)
    assert found.confidence is Confidence.LOW
    assert "AMX-BF16" in found.finding.why
    half = judged(RULE, world(features=["avx512_bf16"]))
    assert half.ns_per_step == 2_500_000


def test_fires_on_reorders() -> None:
    found = judged(RULE, world(reorder=1_000, features=None))
    assert found.ns_per_step == 1_000_000
    assert "layouts takes 1.0 ms of each 10 ms step (10 %)" in found.finding.why


@pytest.mark.parametrize(("reorder", "state"), [(490, State.CLEAR), (510, State.FIRED)])
def test_boundary_of_reorders(reorder: float, state: State) -> None:
    assert run(RULE, world(reorder=reorder, features=["avx2"])).state is state


@pytest.mark.parametrize(("matrix", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary_of_the_matrix_work(matrix: float, state: State) -> None:
    assert run(RULE, world(matrix=matrix)).state is state


def test_quiet_in_bfloat16_already() -> None:
    assert run(RULE, world(kind="c10::BFloat16")).state is State.CLEAR


@pytest.mark.parametrize(
    ("features", "kind", "needs"), [(None, "float", "advisor collect"), (AMX, None, "record_shapes=True")]
)
def test_cannot_tell(features: list[str] | None, kind: str | None, needs: str) -> None:
    result = run(RULE, world(features=features, kind=kind))
    assert result.state is State.CANNOT_TELL
    assert needs in result.reason


def products(*calls: tuple[float, int], rates: dict[str, float] | None = None, threads: int = 1) -> TraceBuilder:
    """Three steps of 10 ms, half of each in products of square matrices: how long one takes in us, and how many numbers a row has.

    Args:
        calls: One product of each step.
        rates: What this machine was measured to reach, by number format.
        threads: Of the process.
    """
    known: dict[str, Any] = {"cpu_features": AMX, "threads": {"intra_op": threads}}
    if rates is not None:
        measured = {"device": "cpu", "threads": threads, "flops_per_s": rates, "bytes_per_s": 1e10}
        known["calibration"] = {**measured, "torch": "2.15.0", "seconds": 1.0, "throttled": False}
    builder = TraceBuilder(None, advisor=known)
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        for lasting, width in calls:
            builder.op(
                "aten::mm", at, lasting, **{"Input Dims": [[width, width]] * 2, "Input type": ["float", "float"]}
            )
            at += lasting
        builder.op("aten::relu", at, (number + 1) * 10_000 - at)
    return builder


def test_products_that_reach_what_the_cores_do_are_arithmetic() -> None:
    found = judged(RULE, products((5_000, 512)))
    assert found.ns_per_step == pytest.approx(5_000_000 * 15 / 16, rel=0.01)
    assert found.finding.saving.kind is Figure.ESTIMATE


def test_of_slow_products_only_what_the_fastest_would_need_is_arithmetic() -> None:
    # 54 GFLOP/s in the first, an eighth of that in the second: of 4 ms half a millisecond is arithmetic.
    found = judged(RULE, products((5_000, 512), (4_000, 237)))
    assert found.ns_per_step == pytest.approx(5_500_000 * 15 / 16, rel=0.02)


def test_short_products_are_hardly_arithmetic() -> None:
    result = run(RULE, products(*[(150, 32)] * 40))
    assert result.state is State.CLEAR
    assert "reaches 437 MFLOP/s where these cores do 50 GFLOP/s or more" in result.reason
    assert run(RULE, products((5_000, 512), threads=8)).state is State.CLEAR


@pytest.mark.parametrize(("short", "saved"), [(4, 3 / 4), (1, None), (0.5, None)])
def test_what_both_formats_were_measured_to_reach_decides(short: float, saved: float | None) -> None:
    result = products((5_000, 512), rates={"fp32": 60e9, "bf16": 60e9 * short})
    if saved is None:
        assert "no faster here" in run(RULE, result).reason
    else:
        assert judged(RULE, result).ns_per_step == pytest.approx(2 * 512**3 / 60 * saved, rel=0.01)


def test_not_applicable_on_a_device() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000).launch(10, kernel_start=20, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
