"""XF002: a copy of 20 ms beside no kernel in each 100 ms step."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.transfer.exposed_input_copies import RULE
from running.one_rule import judged, run
from stories.models import blocks, blocks_back


def world(
    *,
    dur: float = 20_000,
    beside: bool = False,
    stream: int = 7,
    direction: str = "HtoD",
    compute: float | None = None,
    name: str = "some_kernel",
) -> TraceBuilder:
    """Three steps: a copy of `dur`, then a kernel for `compute` or to the step's end; or, with `beside`, one all the time."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.copy(direction, at, 10, start=at + 20, dur=dur, size=256 << 20, pinned=True, stream=stream)
        start = at + 20 if beside else at + 20 + dur
        builder.launch(at + 12, kernel_start=start, kernel_dur=compute or at + 100_000 - start, name=name)
    return builder


def test_fires_with_the_exposed_copy_time_as_bound() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 20_000_000
    assert found.finding.steps_seen == 3
    assert found.finding.why == (
        "Copies to the device run beside no kernel for 20 ms of each 100 ms step (20 %): 256 MiB a step on the kernels' stream."
    )


def test_quiet_beside_kernels() -> None:
    assert run(RULE, world(beside=True, stream=20)).state is State.CLEAR


def test_quiet_when_the_copies_go_elsewhere() -> None:
    assert run(RULE, world(direction="DtoH")).state is State.NOT_APPLICABLE
    assert run(RULE, world(direction="DtoD")).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("dur", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(dur: float, state: State) -> None:
    assert run(RULE, world(dur=dur)).state is state


@pytest.mark.parametrize(("compute", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_kernels_too_short_to_hide_a_copy_bring_no_advice(compute: float, state: State) -> None:
    assert run(RULE, world(dur=80_000, compute=compute)).state is state


def test_at_most_as_much_as_the_kernels_last_is_promised() -> None:
    found = judged(RULE, world(dur=80_000, compute=10_000))
    assert found.ns_per_step == pytest.approx(10e6, abs=10)
    assert "for 80 ms of each 100 ms step (80 %)" in found.finding.why


def test_a_collective_is_no_compute_to_hide_behind() -> None:
    result = run(
        RULE, world(dur=80_000, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
    )
    assert result.state is State.CLEAR
    assert result.reason == (
        "copies to the device without a kernel beside them: 80 %, but kernels to hide them behind run for only 0 % of the step, "
        "below 5.0 %"
    )


def test_kernels_of_one_step_do_not_hide_the_copies_of_another() -> None:
    """A first step that only copies, as a model is loaded, and others that only compute."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        if number:
            builder.launch(at + 12, kernel_start=at + 20, kernel_dur=99_000)
        else:
            builder.copy("HtoD", at, 10, start=at + 20, dur=90_000, size=256 << 20, pinned=True)
    assert run(RULE, builder).state is State.CLEAR


def test_kernels_that_hide_a_copy_already_hide_no_second_one() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.copy("HtoD", at, 10, start=at + 20, dur=40_000, size=256 << 20, pinned=True, stream=20)
        builder.launch(at + 12, kernel_start=at + 50_000, kernel_dur=40_000)
        builder.copy("HtoD", at + 30, 10, start=at + 50_000, dur=38_000, size=256 << 20, pinned=True, stream=21)
    assert run(RULE, builder).state is State.CLEAR


def test_advice_follows_the_stream() -> None:
    shared = "".join(item.code for item in judged(RULE, world()).finding.fix)
    own = "".join(item.code for item in judged(RULE, world(stream=20)).finding.fix)
    assert "torch.cuda.Stream()" in shared
    assert "torch.cuda.Stream()" not in own
    assert "one batch earlier" in own


def test_not_applicable_without_a_device() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000).op("aten::linear", 0, 900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


def test_suppressed_while_warm_up_is_in_the_window() -> None:
    builder = world()
    builder.runtime("cudaMalloc", 30_000, 60_000)
    assert run(RULE, builder).state is State.SUPPRESSED


@pytest.mark.parametrize(("name", "images"), [("aten::embedding", False), ("aten::relu", True)])
def test_bytes_of_images_are_no_advice_for_rows_of_a_table(name: str, *, images: bool) -> None:
    world = Clocked()
    for _ in world.steps(4):
        world.copied("HtoD", 60 << 20, pinned=True)
        world.kernel_of(name, "vectorized_gather_kernel", 9_000)
    codes = [fix.code for fix in judged(RULE, world).finding.fix]
    assert any("uint8" in code for code in codes) is images


@pytest.mark.parametrize(("parts", "bytes_first"), [(1, True), (30, False)])
def test_what_travels_in_many_parts_is_no_batch_of_images(parts: int, *, bytes_first: bool) -> None:
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(parts):
            world.copied("HtoD", (60 << 20) // parts, pinned=True)
        world.kernel_of("aten::linear", "some_kernel", 9_000)
    codes = [fix.code for fix in judged(RULE, world).finding.fix]
    assert any("uint8" in code for code in codes) is bytes_first


@pytest.mark.parametrize(
    ("rate", "pinned", "slow"), [(3_000, True, True), (12_000, True, False), (3_000, False, False)]
)
def test_a_narrow_link_is_named(rate: float, *, pinned: bool, slow: bool) -> None:
    """From unpinned memory any link is as slow."""
    world = Clocked()
    for _ in world.steps(4):
        world.copied("HtoD", 60 << 20, pinned=pinned, rate=rate)
        world.kernel_of("aten::linear", "some_kernel", 30_000)
    found = judged(RULE, world).finding
    assert ("3.0 GB/s, less than half" in found.why) is slow
    assert any("pcie.link.width" in fix.code for fix in found.fix) is slow


def offloaded(*, gradients: bool) -> Clocked:
    """ZeRO-Offload: gradients go to the host, weights come back behind the pass; or a batch is sent ahead there."""
    world = Clocked()
    for _ in world.steps(4):
        blocks(world, 20)
        blocks_back(world, 20)
        for _ in range(6 if gradients else 0):
            world.copied("DtoH", 8 << 20, pinned=True)
        for _ in range(6):
            world.copied("HtoD", 8 << 20, pinned=True)
    return world


@pytest.mark.parametrize("gradients", [True, False])
def test_weights_that_are_updated_on_the_host_are_no_batches(gradients: bool) -> None:
    found = judged(RULE, offloaded(gradients=gradients)).finding
    assert ("an optimizer updates there" in found.why) is gradients
    assert (found.title == "Copies to the device delay the kernels") is gradients
    assert any("optimizer's state" in fix.code for fix in found.fix) is gradients
