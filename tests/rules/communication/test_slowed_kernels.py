"""CO010: six equal products a step, three of them beside an all-reduce, which makes them longer."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from rules.communication.slowed_kernels import RULE
from running.one_rule import judged, run

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
NAME = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"


def world(
    *,
    beside: float = 1_300,
    other_sizes: bool = False,
    shapes: bool = True,
    collective: bool = True,
    device: str = "cuda",
) -> TraceBuilder:
    """Three steps of 20 ms; a product takes 1 ms alone.

    Args:
        beside: What it takes beside the collective, us.
        other_sizes: Whether those beside it multiply other sizes, as the backward pass does.
        shapes: Whether shapes were recorded.
        collective: Whether there is one at all.
        device: Kind of device.
    """
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * 20_000.0
        builder.step(number, at, 20_000)
        for place in range(6):
            late = place >= 3
            depth = 2048 if late and other_sizes else 1024
            sizes = {"Input Dims": [[4096, depth], [depth, 4096]], "Input type": ["c10::BFloat16"] * 2}
            when = at + place * 100
            builder.op("aten::mm", when, 20, **(sizes if shapes else {}))
            start = at + 1_000 + place * 2_000
            builder.launch(when + 5, kernel_start=start, kernel_dur=beside if late else 1_000, name=NAME, op=None)
        if collective:
            builder.launch(at + 700, kernel_start=at + 6_900, kernel_dur=6_000, name=ALL_REDUCE, stream=20, op=None)
    return builder


def test_fires_with_what_they_take_longer():
    found = judged(RULE, world(beside=1_400))
    assert found.finding.saving.kernel_ns == 9 * 400_000
    assert (
        "take 40 % longer than the same kernels on the same shapes without one: 1.2 ms a step (6.0 %)"
        in found.finding.why
    )


@pytest.mark.parametrize(("device", "advised"), [("cuda", True), ("rocm", False)])
def test_switches_of_nvlink_are_advised_on_cards_that_may_have_them(device, advised):
    fixes = [one.code for one in judged(RULE, world(beside=1_400, device=device)).finding.fix]
    assert any("NCCL_NVLS_ENABLE" in fix for fix in fixes) is advised
    # By default NCCL takes NVLink SHARP where it can: setting the variable to 1 would change nothing.
    assert not any("=1" in fix for fix in fixes)
    assert "NCCL_MAX_CTAS=8" in fixes


@pytest.mark.parametrize(("beside", "state"), [(1_330, State.CLEAR), (1_340, State.FIRED)])
def test_boundary(beside, state):
    # Three kernels a step, 5 % of 20 ms.
    assert run(RULE, world(beside=beside)).state is state


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ({"beside": 1_400, "other_sizes": True}, State.CLEAR),
        ({"beside": 1_400, "shapes": False}, State.CANNOT_TELL),
        ({"beside": 1_400, "collective": False}, State.NOT_APPLICABLE),
        ({"beside": 1_000}, State.CLEAR),
    ],
)
def test_quiet(arguments, state):
    assert run(RULE, world(**arguments)).state is state
