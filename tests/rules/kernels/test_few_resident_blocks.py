"""KE010: kernels of which few blocks fit on a multiprocessor, by what each of them asks for."""

from __future__ import annotations

import pytest

from analyzer.facts.kernels.residency import factors
from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.kernels.few_resident_blocks import RULE
from running.one_rule import judged, run

OWN = "triton_red_fused_native_layer_norm_3"
PRODUCT = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn"


def world(*, factor: str | None = "REGS", occupancy: float = 12.0, dur: float = 300, name: str = OWN) -> TraceBuilder:
    """Three steps of 1 ms with one kernel each."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 1_000.0
        builder.step(number, at, 1_000)
        stated = {"occupancy": {"limitingFactors": factor, "blockLimitRegs": 1}} if factor is not None else {}
        builder.launch(
            at + 10,
            kernel_start=at + 50,
            kernel_dur=dur,
            name=name,
            **{"est. achieved occupancy %": occupancy},
            **stated,
        )
    return builder


@pytest.mark.parametrize(
    ("factor", "word"),
    [("REGS", "registers"), ("SMEM", "shared memory"), ("WARPS|REGS", "registers"), ("BARRIERS", "barriers")],
)
def test_it_is_told_without_a_saving(factor: str, word: str) -> None:
    found = judged(RULE, world(factor=factor))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert found.finding.confidence is Confidence.LOW
    assert f"take 30 % of the step; {word} of their blocks limit them" in found.finding.why


@pytest.mark.parametrize(("occupancy", "state"), [(24, State.FIRED), (25, State.CLEAR), (0, State.CLEAR)])
def test_boundary_of_the_occupancy(occupancy: float, state: State) -> None:
    """Zero is what stands where nothing was estimated."""
    assert run(RULE, world(occupancy=occupancy)).state is state


@pytest.mark.parametrize(("dur", "state"), [(200, State.FIRED), (199, State.CLEAR)])
def test_boundary_of_the_share(dur: float, state: State) -> None:
    assert run(RULE, world(dur=dur)).state is state


@pytest.mark.parametrize("settings", [{"factor": "WARPS"}, {"factor": "BLOCKS"}, {"name": PRODUCT}])
def test_limits_of_the_device_and_tiles_of_products_are_no_fault(settings: dict[str, str]) -> None:
    assert run(RULE, world(**settings)).state is State.CLEAR


@pytest.mark.parametrize("factor", [None, "", "NONE"])
def test_cannot_tell_where_nothing_is_stated(factor: str | None) -> None:
    assert run(RULE, world(factor=factor)).state is State.CANNOT_TELL


@pytest.mark.parametrize("text", ["12", '"REGS"', "{", '{"limitingFactors": 3}', "[]"])
def test_anything_else_says_nothing(text: str) -> None:
    assert factors(text) == ()
