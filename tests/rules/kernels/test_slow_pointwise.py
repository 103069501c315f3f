"""KE012: additions of 4096 x 4096 in 16 bits on an MI300X that take 60 us each and could take 19, in one order in memory or not."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from programs.hardware import POINTWISE
from rules.kernels.slow_pointwise import RULE
from running.one_rule import judged, run

STEPPING = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16>>"
    "(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::BFloat16> const&)::{lambda(int)#1}>(int, lambda)"
)
ROCM = STEPPING.replace("elementwise_kernel<", "elementwise_kernel_manual_unroll<")
PLAIN = [[4096, 4096], [4096, 4096], []]
# 100,663,296 bytes at 5.325 TB/s.
LEAST_US = 3 * 2 * 4096**2 / 5.325e6


def world(
    *,
    name: str = STEPPING,
    dur: float = 60,
    calls: int = 8,
    dims: list[list[int]] | None = None,
    op: str = "aten::add",
    strides: list[list[int]] | None = None,
) -> TraceBuilder:
    """Three steps of 2 ms with so many ops of so many us each.

    Args:
        name: Of their kernels.
        dur: Of each, us.
        calls: In a step.
        dims: Of the inputs.
        op: Name of the op.
        strides: Of the inputs, where they are recorded.
    """
    builder = TraceBuilder("rocm")
    inputs: dict[str, Any] = {"Input Dims": dims or PLAIN, "Input type": ["c10::BFloat16"] * 2 + ["Scalar"]}
    if strides is not None:
        inputs["Input Strides"] = [*strides, []]
    for number in range(3):
        at = number * 2_000.0
        builder.step(number, at, 2_000)
        for place in range(calls):
            when = at + place * 150
            builder.op(op, when, 10, **inputs)
            builder.launch(when + 2, kernel_start=when + 20, kernel_dur=dur, name=name, op=None, call_dur=5)
    return builder


@pytest.mark.parametrize("name", [STEPPING, ROCM])
def test_slow_ops_are_told_with_what_they_lose(name: str) -> None:
    found = judged(RULE, world(name=name))
    assert "`aten::add`, moves 32 % of what the memory could" in found.finding.why
    assert found.finding.saving.kernel_ns == pytest.approx(24_000 * (60 - LEAST_US / 0.8), rel=1e-3)


def test_of_plain_tensors_it_is_not_told_why_they_are_slow() -> None:
    found = judged(RULE, world(name=POINTWISE))
    assert "run along memory, and the trace does not tell why" in found.finding.why
    assert (found.finding.confidence, found.finding.saving.usual_kernel_ns) == (Confidence.LOW, 0)
    stepping = judged(RULE, world())
    assert (stepping.finding.confidence, stepping.finding.title) == (
        Confidence.MEDIUM,
        "Pointwise ops step through memory",
    )


def test_plain_tensors_at_their_usual_speed_are_fine() -> None:
    assert run(RULE, world(name=POINTWISE, dur=30)).state is State.CLEAR


@pytest.mark.parametrize("inputs", [[[4096, 4096], [4096, 1], []], [[4096, 4096], [4096], []]])
def test_a_tensor_that_is_stretched_is_stepped_through_in_any_order(inputs: list[list[int]]) -> None:
    assert run(RULE, world(dims=inputs)).state is State.NOT_APPLICABLE


def test_what_lays_a_tensor_out_anew_has_to_step() -> None:
    assert run(RULE, world(op="aten::copy_", dims=PLAIN[:2])).state is State.NOT_APPLICABLE


def test_calls_that_are_over_at_once_do_not_count() -> None:
    # 2048 x 2048: 4.7 us at the peak.
    small = [[2048, 2048], [2048, 2048], []]
    assert run(RULE, world(dims=small, dur=20)).state is State.NOT_APPLICABLE
    assert run(RULE, world(dims=[[8192, 2048]] * 2 + [[]], dur=60)).state is State.FIRED


@pytest.mark.parametrize(("dur", "state"), [(LEAST_US / 0.39, State.FIRED), (LEAST_US / 0.41, State.CLEAR)])
def test_boundary_of_the_peak(dur: float, state: State) -> None:
    assert run(RULE, world(dur=dur, calls=10)).state is state


# Of 60 us each 36.4 go beyond 80 % of the peak: of 2 ms two are 3.6 %, and one is 1.8 %.
@pytest.mark.parametrize(("calls", "state"), [(2, State.FIRED), (1, State.CLEAR)])
def test_boundary_of_the_share(calls: int, state: State) -> None:
    assert run(RULE, world(calls=calls)).state is state


def test_whose_memory_it_is_has_to_be_known() -> None:
    nameless = world()
    nameless.top["deviceProperties"] = []
    assert run(RULE, nameless).state in (State.NOT_APPLICABLE, State.CANNOT_TELL)


@pytest.mark.parametrize(
    ("strides", "said"),
    [
        ([[4_096, 1], [1, 4_096]], "lie in different orders: row by row and permuted"),
        ([[8_192, 1], [8_192, 1]], "with gaps, as slices"),
        ([[4_096, 1], [4_096, 1]], "where the result is written to"),
    ],
)
def test_strides_tell_what_lies_otherwise(strides: list[list[int]], said: str) -> None:
    assert said in judged(RULE, world(strides=strides)).finding.why
    assert said not in judged(RULE, world()).finding.why


def test_a_tensor_that_is_expanded_has_less_to_read() -> None:
    assert run(RULE, world(strides=[[4_096, 1], [0, 1]])).state is State.NOT_APPLICABLE
