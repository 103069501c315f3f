"""XF001: a batch of 8 MiB copied from pageable memory in each 100 ms step; the call holds the host for 10 ms."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from building.clocked import Clocked
from known.sayings import explained
from rules.transfer.pageable_copies import RULE
from running.one_rule import judged, run
from stories.models import layers, perceptron, sent_and_waited

MIB = 1024 * 1024


def world(
    *,
    call: float = 10_000,
    size: int = 8 * MIB,
    pinned: bool = False,
    busy: bool = False,
    copies: int = 1,
    advisor: dict[str, object] | None = None,
) -> TraceBuilder:
    """Three steps: a copy whose call lasts `call` and works on the device in its last 2 ms, then a kernel up to the step's end.

    With `busy` the kernel of the step before runs under the call and the copy waits for it.
    """
    builder = TraceBuilder(advisor=advisor)
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        for index in range(copies):
            begin = at + index * (call + 10)
            builder.copy("HtoD", begin, call, start=begin + call - 2_000, dur=2_000, size=size, pinned=pinned)
        if busy:
            builder.kernel("before", at, copies * call - 2_000)
        end = at + copies * (call + 10)
        builder.launch(end, kernel_start=end + 10, kernel_dur=at + 100_000 - end - 10)
    return builder


def test_fires_with_the_idle_part_of_the_call_as_bound() -> None:
    found = judged(RULE, world())
    # 8 ms of the call beside no work; of the 2 ms copy at 4.2 GB/s what a PCIe 5 link (50 GB/s) would save.
    expected = 8_000_000 + 2_000_000 * (1 - 8 * MIB / 2_000_000 / 50)
    assert found.usual_ns_per_step == pytest.approx(expected, abs=10)
    # The calls end 2 ms late beside their copies, and the launch behind them takes 20 us.
    assert found.ns_per_step == pytest.approx(expected + 20_000, abs=10)
    assert (found.confidence, found.finding.steps_seen) == (Confidence.HIGH, 3)
    assert found.finding.why == (
        "8.0 MiB a step are copied to the device from pageable memory; the calls hold the host for 10 ms of each 100 ms step "
        "(10 %); from pinned memory the step could be shorter by at most 9.9 %."
    )


def test_beside_a_busy_device_there_is_hardly_a_saving() -> None:
    found = judged(RULE, world(busy=True))
    assert found.ratio < 0.025
    assert any("busy during most" in caveat for caveat in found.finding.caveats)


def test_quiet_when_pinned() -> None:
    assert run(RULE, world(pinned=True)).state is State.CLEAR


def test_scalars_do_not_count() -> None:
    assert run(RULE, world(size=60 * 1024, copies=3)).state is State.CLEAR


def test_quiet_when_the_gap_has_another_cause() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, 40_000)
        builder.copy("HtoD", at + 40_000, 500, start=at + 40_100, dur=300, size=100 * 1024)
        builder.launch(at + 41_000, kernel_start=at + 41_010, kernel_dur=58_000)
    assert run(RULE, builder).state is State.CLEAR


@pytest.mark.parametrize(("call", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary_of_time(call: float, state: State) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.copy("HtoD", at, call, start=at + 1_000, dur=500, size=100 * 1024)
        builder.launch(at + call, kernel_start=at + call + 10, kernel_dur=100_000 - call - 10)
    assert run(RULE, builder).state is state


@pytest.mark.parametrize(("size", "state"), [(MIB - 4096, State.CLEAR), (MIB + 4096, State.FIRED)])
def test_boundary_of_bytes(size: int, state: State) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).copy("HtoD", at, 500, start=at + 100, dur=400, size=size)
        builder.launch(at + 500, kernel_start=at + 510, kernel_dur=99_490)
    assert run(RULE, builder).state is state


def test_on_rocm_it_cannot_tell_unless_the_loader_is_known() -> None:
    def rocm(advisor: dict[str, object] | None) -> TraceBuilder:
        builder = TraceBuilder("rocm", advisor=advisor)
        for number in range(3):
            at = number * 100_000
            builder.step(number, at, 100_000)
            call = builder.runtime("hipMemcpyWithStream", at, 10_000)
            work = {"device": 0, "stream": 0, "correlation": call, "bytes": 8 * MIB}
            builder.event("Memcpy HtoD (Host -> Device)", "gpu_memcpy", at + 9_000, 900, pid=0, tid=0, args=work)
            builder.launch(at + 10_000, kernel_start=at + 10_020, kernel_dur=89_000)
        return builder

    unknown = run(RULE, rocm(None))
    assert unknown.state is State.CANNOT_TELL
    assert "advisor collect" in unknown.reason
    assert judged(RULE, rocm({"loader": {"pin_memory": False}})).confidence is Confidence.MEDIUM
    assert run(RULE, rocm({"loader": {"pin_memory": True}})).state is State.CLEAR


def test_not_applicable_without_copies_or_device() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000).launch(10, kernel_start=20, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
    alone = TraceBuilder(None)
    alone.step(0, 0, 1_000).op("aten::linear", 0, 900)
    assert run(RULE, alone).state is State.NOT_APPLICABLE


def test_advice_follows_what_is_pinned_already() -> None:
    plain = judged(RULE, world()).finding.fix[0].code
    assert "pin_memory=True" in plain
    known = judged(RULE, world(advisor={"loader": {"pin_memory": True}})).finding.fix[0].code
    assert "def pin_memory" in known


def test_a_wait_for_work_of_no_used_step_is_no_bound() -> None:
    """A first step that is left out queues long work: the next one's copy waits for that, and no other step's does."""
    world = Clocked()
    for number in world.steps(5):
        world.load(50)
        sent_and_waited(world, 2 * MIB)
        perceptron(world, 100, 4, host=30)
        if number == 0:
            layers(world, 30)
    found = judged(RULE, world)
    assert found.finding.why.count("us of each") == 1
    # Both waits and copies are hundredths of the step.
    assert found.ratio < 0.01


def test_waits_for_the_step_before_bound_what_each_step_may_save() -> None:
    """In a loop that goes on each step waits for the one before, the first one too."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(50)
        sent_and_waited(world, 2 * MIB)
        perceptron(world, 100, 4, host=30)
        layers(world, 6)
    assert judged(RULE, world).ratio > 0.2


def kept(*, pinned: bool = True, behind: int = 20, ahead: int = 20, grows: int = 0) -> TraceBuilder:
    """Six passes: a batch of 6 MiB, so many kernels, then 2 MiB of pageable memory, each time `grows` more, and kernels."""
    world = Clocked()
    for number in world.steps(6):
        world.copied("HtoD", 6 * MIB, pinned=pinned)
        perceptron(world, behind, 30)
        world.copied("HtoD", 2 * MIB + number * grows)
        perceptron(world, ahead, 30)
    return world


@pytest.mark.parametrize(
    ("builder", "of_the_model"),
    [
        (kept(), True),
        # Nobody pins: the batch itself is the larger part.
        (kept(pinned=False), False),
        # A part of the batch that is not pinned lies beside the other.
        (kept(behind=0), False),
        # Targets of each batch have sizes of their own.
        (kept(grows=4_096), False),
    ],
    ids=["kept by the model", "nothing pinned", "part of a batch", "targets"],
)
def test_what_a_model_sends_in_each_pass_is_no_batch(builder: TraceBuilder, of_the_model: bool) -> None:
    found = judged(RULE, builder).finding
    assert ("goes between kernels of each pass" in found.why) is of_the_model
    assert ("kept on the device" in found.why) is of_the_model
    assert (found.title is None) is not of_the_model
    assert any("register_buffer" in fix.code for fix in found.fix) is of_the_model
    assert any("pin_memory" in fix.code for fix in found.fix) is not of_the_model
    # What is sent as a whole is mostly the batch.
    others = explained(builder).findings
    assert [one.rule for one in others if one.rule != "XF001" and "the model keeps" in one.why] == []
