"""PR005: 9 of 90 busy milliseconds are spent on double tensors."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.precision.double_precision import RULE
from running.one_rule import judged, run

DOUBLE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<double>>(p)"
FLOAT = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(p)"
SILENT = "void some_library_kernel(p)"


def world(
    *, name: str = DOUBLE, dur: float = 9_000, rest: float = 81_000, types: list[str] | None = None
) -> TraceBuilder:
    """Three steps of 100 ms: the kernel in question, then other work."""
    builder = TraceBuilder()
    args = {} if types is None else {"Input type": types, "Input Dims": [[8], [8]]}
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.op("aten::mul", at, 60, **args)
        builder.launch(at + 10, kernel_start=at + 2_000, kernel_dur=dur, name=name, op=None)
        builder.launch(at + 100, kernel_start=at + 2_000 + dur, kernel_dur=rest, name=FLOAT)
    return builder


def test_fires_by_name_with_half_of_the_time() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == pytest.approx(9e6, abs=10)
    assert found.usual_ns_per_step == pytest.approx(9e6 * 0.5 * 0.9, abs=10)
    assert found.confidence is Confidence.MEDIUM


PRODUCT = "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(Params)"


@pytest.mark.parametrize(
    ("name", "card", "halved"),
    [
        (PRODUCT, {"computeMajor": 9, "computeMinor": 0}, False),
        (PRODUCT, {"computeMajor": 8, "computeMinor": 0}, False),
        (DOUBLE, {"computeMajor": 9, "computeMinor": 0}, True),
        ("volta_dgemm_64x64_nn", {"computeMajor": 7, "computeMinor": 0}, True),
    ],
)
def test_plain_32_bits_are_no_faster_where_tensor_cores_multiply_64(
    name: str, card: dict[str, int], halved: bool
) -> None:
    builder = world(name=name)
    builder.top["deviceProperties"][0] |= card
    found = judged(RULE, builder)
    assert (found.usual_ns_per_step > 0) is halved
    assert any("set_float32_matmul_precision" in fix.code for fix in found.finding.fix) is not halved


def test_fires_by_type_where_the_name_is_silent() -> None:
    assert judged(RULE, world(name=SILENT, types=["double", "double"])).confidence is Confidence.HIGH


def test_a_python_number_beside_a_float_tensor_is_no_double_precision() -> None:
    assert run(RULE, world(name=FLOAT, types=["float", "double"])).state is State.CLEAR
    assert run(RULE, world(name=SILENT, types=["float", "double"])).state is State.CLEAR
    assert run(RULE, world(name=FLOAT, types=["double", "float"])).state is State.CLEAR


@pytest.mark.parametrize(("dur", "state"), [(950, State.CLEAR), (1_050, State.FIRED)])
def test_boundary(dur: float, state: State) -> None:
    assert run(RULE, world(dur=dur, rest=100_000 - dur)).state is state


def test_not_applicable_without_kernels() -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.copy("HtoD", 0, 5, start=10, dur=50)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
