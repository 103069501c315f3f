"""KE001: half of the busy time is kernels with a quarter block per multiprocessor."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from builders import TraceBuilder
from rules.kernels.small_grid import RULE
from worlds import judged, renamed, run, shifted

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def world(
    *, small: float = 45_000, large: float = 45_000, blocks: float | None = 0.25, name: str = "small_kernel"
) -> TraceBuilder:
    """Three steps of 100 ms: a small kernel and a large one."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        few = {} if blocks is None else {"blocks per SM": blocks}
        many = {} if blocks is None else {"blocks per SM": 8.0}
        builder.launch(at, kernel_start=at + 2_000, kernel_dur=small, name=name, **few)
        builder.launch(at + 100, kernel_start=at + 2_000 + small, kernel_dur=large, name="large_kernel", **many)
    return builder


def test_fires_with_the_empty_part_of_the_small_kernels() -> None:
    found = judged(RULE, world())
    # Three quarters of 45 ms, times a device that is busy 90 % of the step.
    assert found.ns_per_step == pytest.approx(45e6 * 0.75 * 0.9, abs=10)
    assert "50 % of the GPU's busy time" in found.finding.why


def test_one_block_per_multiprocessor_is_full() -> None:
    assert run(RULE, world(blocks=1.0)).state is State.CLEAR


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


def test_time_and_process_numbers_do_not_matter() -> None:
    plain, other = judged(RULE, world()), judged(RULE, renamed(shifted(world(), 1e12), 1_000))
    assert (other.ns_per_step, other.identity) == (plain.ns_per_step, plain.identity)
