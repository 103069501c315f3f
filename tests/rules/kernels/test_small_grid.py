"""KE001: half of the busy time is kernels with a quarter block per multiprocessor."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Figure, State
from building.builders import TraceBuilder
from rules.kernels.small_grid import RULE
from running.one_rule import judged, run

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def world(
    *,
    small: float = 45_000,
    large: float = 45_000,
    blocks: float | None = 0.25,
    name: str = "small_kernel",
    side_by_side: int = 1,
    beside: dict[str, Any] | None = None,
) -> TraceBuilder:
    """Three steps of 100 ms: a small kernel and a large one.

    Args:
        small: Duration of the small one.
        large: Duration of the large one.
        blocks: Blocks per SM of the small one; None where no kernel states them.
        name: Name of the small one.
        side_by_side: On so many streams the small one runs at once.
        beside: Arguments of another kernel that runs during the small one.
    """
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        few = {} if blocks is None else {"blocks per SM": blocks}
        many = {} if blocks is None else {"blocks per SM": 8.0}
        for index in range(side_by_side):
            builder.launch(
                at + index, kernel_start=at + 2_000, kernel_dur=small, name=name, stream=7 + index, call_dur=1, **few
            )
        if beside is not None:
            builder.launch(at + 90, kernel_start=at + 2_000, kernel_dur=small, **{"stream": 40, "call_dur": 1} | beside)
        builder.launch(at + 100, kernel_start=at + 2_000 + small, kernel_dur=large, name="large_kernel", **many)
    return builder


def test_fires_with_the_empty_part_of_the_small_kernels() -> None:
    found = judged(RULE, world())
    # Three quarters of 45 ms, and what is likely of it with a device that is busy 90 % of the step.
    assert found.ns_per_step == pytest.approx(45e6 * 0.75, abs=10)
    assert found.usual_ns_per_step == pytest.approx(45e6 * 0.75 * 0.9, abs=10)
    assert found.finding.why == (
        "For 50 % of the GPU's busy time all kernels that run have, together, blocks for less than 75 % of its multiprocessors; "
        "75 % of the GPU has nothing to do meanwhile. Most of it is `small_kernel`."
    )


# As matrix products leave multiprocessors out, of 132: for clusters of blocks to come out even, for DeepEP's exchange, for NCCL.
@pytest.mark.parametrize("blocks", [1.0, 128 / 132, 108 / 132, 100 / 132])
def test_a_persistent_grid_is_full(blocks: float) -> None:
    assert run(RULE, world(blocks=blocks)).state is State.CLEAR


@pytest.mark.parametrize(("blocks", "state"), [(0.74, State.FIRED), (0.76, State.CLEAR)])
def test_boundary_of_a_full_device(blocks: float, state: State) -> None:
    assert run(RULE, world(blocks=blocks)).state is state


@pytest.mark.parametrize(("number", "state"), [(2, State.FIRED), (3, State.CLEAR), (4, State.CLEAR), (8, State.CLEAR)])
def test_kernels_side_by_side_fill_the_device_together(number: int, state: State) -> None:
    assert run(RULE, world(side_by_side=number)).state is state


def test_side_by_side_each_empty_multiprocessor_is_counted_once() -> None:
    # Two kernels with a quarter each: half of the device stands empty, not twice three quarters.
    assert judged(RULE, world(side_by_side=2)).ns_per_step == pytest.approx(45e6 * 0.5, abs=10)


@pytest.mark.parametrize(
    ("beside", "state"),
    [
        ({"name": "large_kernel", "blocks per SM": 8.0}, State.CLEAR),
        ({"name": NCCL, "blocks per SM": 0.6}, State.CLEAR),
        ({"name": NCCL, "blocks per SM": 0.2}, State.FIRED),
    ],
    ids=["a large kernel", "a collective that fills the rest", "a collective that does not"],
)
def test_what_runs_beside_a_small_kernel_counts(beside: dict[str, Any], state: State) -> None:
    assert run(RULE, world(beside=beside)).state is state


def test_beside_a_kernel_without_a_grid_nothing_is_claimed() -> None:
    result = run(RULE, world(beside={"name": "of_a_graph"}))
    assert result.state is State.CANNOT_TELL
    assert result.reason.startswith("kernels that state no grid take 50 % of the busy time")


def test_only_the_time_in_which_nothing_else_runs_is_claimed() -> None:
    builder = world()
    for number in range(3):
        at = number * 100_000.0
        builder.launch(
            at + 95,
            kernel_start=at + 2_000,
            kernel_dur=5_000,
            name="wide",
            stream=40,
            call_dur=1,
            **{"blocks per SM": 4.0},
        )
    assert judged(RULE, builder).ns_per_step == pytest.approx(40e6 * 0.75, abs=10)


def test_collectives_use_few_blocks_by_design() -> None:
    assert run(RULE, world(name=NCCL)).state is State.CLEAR


@pytest.mark.parametrize(("small", "state"), [(39_900, State.CLEAR), (40_100, State.FIRED)])
def test_boundary(small: float, state: State) -> None:
    assert run(RULE, world(small=small, large=100_000 - small)).state is state


@pytest.mark.parametrize(("small", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_a_device_that_hardly_works_has_another_problem(small: float, state: State) -> None:
    assert run(RULE, world(small=small, large=10)).state is state


def test_cannot_tell_where_the_figure_is_missing() -> None:
    assert run(RULE, world(blocks=None)).state is State.CANNOT_TELL


def test_the_batch_size_is_named_where_it_was_recorded() -> None:
    builder = world()
    builder.top["advisor"] = {"batch_size": 64}
    assert "+batch_size = 128" in judged(RULE, builder).finding.fix[0].code


@pytest.mark.parametrize(
    ("name", "advised"),
    [
        ("small_kernel", True),
        ("void at::native::GammaBetaBackwardCUDAKernel_32x32<float, float>(long, long)", False),
        ("void at::native::(anonymous namespace)::conv_depthwise2d_grad_weight_kernel<float, unsigned int>", False),
        ("void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>", True),
    ],
)
def test_a_larger_batch_is_not_advised_where_blocks_add_up_all_samples(name: str, *, advised: bool) -> None:
    found = judged(RULE, world(name=name)).finding
    said = (*(advice.code for advice in found.fix), found.verify, found.saving.basis)
    assert any("batch_size = 2" in one for one in said) is advised
    assert any("with the larger batch" in one for one in said) is advised
    assert any("No larger batch" in one for one in said) is not advised
    # Kernels of 45 ms are not fused with others; what adds up all samples a compiler may split.
    assert any("torch.compile" in one for one in said) is not advised


def test_kernels_of_another_device_fill_this_one_no_more() -> None:
    """80 blocks on each of two devices of 132 multiprocessors: together 160, and each is underused."""
    builder = TraceBuilder()
    builder.top["deviceProperties"].append({**builder.top["deviceProperties"][0], "id": 1})
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        for device in range(2):
            grid = {"grid": [80, 1, 1], "block": [256, 1, 1], "blocks per SM": 0.61}
            builder.launch(
                at + device, kernel_start=at + 2_000, kernel_dur=90_000, name="k", device=device, call_dur=1, **grid
            )
    assert judged(RULE, builder).finding.why.startswith("For 100 % of the GPU's busy time")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("_fwd_grouped_kernel_stage1", True),
        ("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128>>(p)", True),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 32>>(p)", False),
    ],
)
def test_attention_that_shares_its_cache_among_blocks_is_given_more_of_them(name: str, *, split: bool) -> None:
    found = judged(RULE, world(name=name)).finding
    assert ("Share keys and values among more blocks" in found.fix[0].code) is split
    assert ("with the larger batch" in found.verify) is not split


@pytest.mark.parametrize(("dur", "fused"), [(20, True), (2_000, False)])
def test_only_short_kernels_wait_to_be_fused(dur: float, *, fused: bool) -> None:
    """A recurrence or a search that goes through its input in turn has few blocks for long."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 20_000
        builder.step(number, at, 20_000)
        for place in range(int(18_000 / dur)):
            start = at + 20 + place * dur
            builder.launch(
                at + place, kernel_start=start, kernel_dur=dur - 1, name="in_turn<int>(p)", **{"blocks per SM": 0.2}
            )
    found = judged(RULE, builder).finding
    assert any("torch.compile" in fix.code for fix in found.fix) is fused
    assert any("in turn" in fix.code for fix in found.fix) is not fused
    assert "Most of it is `in_turn" in found.why


@pytest.mark.parametrize(
    ("name", "blocks", "state"),
    [
        # A quarter of MI308X's 80 compute units, the fewest of gfx942; all of them; and of a design that no name tells.
        ("Cijk_Ailk_Bljk_BBS_BH_MT64x64x64_ISA942_IU1", 20, State.FIRED),
        ("Cijk_Ailk_Bljk_BBS_BH_MT64x64x64_ISA942_IU1", 80, State.CLEAR),
        ("Cijk_Ailk_Bljk_BBS_BH_MT64x64x64", 20, State.CANNOT_TELL),
    ],
)
def test_a_device_that_is_not_described_is_the_smallest_that_its_kernels_were_built_for(
    name: str, blocks: int, state: State
) -> None:
    builder = TraceBuilder("rocm", top={"deviceProperties": []})
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.launch(at, kernel_start=at + 100, kernel_dur=9_000, name=name, grid=[blocks, 1, 1], block=[256, 1, 1])
    assert run(RULE, builder).state is state
    if state is State.FIRED:
        found = judged(RULE, builder).finding
        assert found.saving.kind is Figure.ESTIMATE
        assert "75 % of the GPU has nothing to do" in found.why
        assert "does not name its device" in found.caveats[1]
        assert found.why.startswith("If the device, which the trace does not name, is a whole one")
