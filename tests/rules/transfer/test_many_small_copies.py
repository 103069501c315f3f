"""XF003: 20 copies of 8 bytes to the device in each 10 ms step, 100 us a call."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.transfer.many_small_copies import RULE
from running.one_rule import judged, run
from stories.models import ADD, layers, layers_back, number_sent, update


def world(*, copies: int = 20, call: float = 100, size: int = 8, direction: str = "HtoD") -> TraceBuilder:
    """Three steps: the copies one after another, the device idle meanwhile, then a kernel."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        for index in range(copies):
            begin = at + index * call
            builder.copy(direction, begin, call, start=begin + call - 2, dur=1, size=size)
        end = at + copies * call
        builder.launch(end, kernel_start=end + 10, kernel_dur=at + 10_000 - end - 10)
    return builder


def test_fires_with_the_idle_part_of_the_calls() -> None:
    found = judged(RULE, world())
    # 20 calls of 100 us less 1 us of copying each.
    assert found.ns_per_step == pytest.approx(20 * 99_000, rel=0.02)
    assert found.finding.why == (
        "20 copies a step between host and device, 8 B in the median: 20 small ones to the device hold the host for 2.0 ms "
        "of each 10 ms step (20 %)."
    )


@pytest.mark.parametrize(("copies", "state"), [(19, State.CLEAR), (20, State.FIRED)])
def test_boundary_of_the_number(copies: int, state: State) -> None:
    assert run(RULE, world(copies=copies)).state is state


@pytest.mark.parametrize(("size", "state"), [(65_000, State.FIRED), (66_000, State.CLEAR)])
def test_boundary_of_the_size(size: int, state: State) -> None:
    assert run(RULE, world(size=size)).state is state


@pytest.mark.parametrize(("call", "state"), [(9, State.CLEAR), (11, State.FIRED)])
def test_boundary_of_the_host_time(call: float, state: State) -> None:
    assert run(RULE, world(call=call)).state is state


def test_reads_from_the_device_belong_to_another_rule() -> None:
    assert run(RULE, world(direction="DtoH")).state is State.CLEAR


def test_copies_within_the_device_do_not_count() -> None:
    assert run(RULE, world(direction="DtoD")).state is State.NOT_APPLICABLE


def test_not_applicable_without_a_device() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000).op("aten::linear", 0, 900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


def one_number(*, queued: float, late: float, pinned: bool = False) -> TraceBuilder:
    """Five steps: a kernel is queued, one number is sent and waited for until that has run, and the next kernel comes late."""
    builder, at = TraceBuilder(), 0.0
    for number in range(5):
        begin = at
        builder.launch(at, kernel_start=at + 10, kernel_dur=queued, name="gemm", op="aten::mm")
        end = at + 12 + queued
        wait = 10 if pinned else queued
        builder.op("aten::to", at + 20, wait)
        builder.copy("HtoD", at + 22, 5, start=end, dur=2, size=4, op=None, pinned=pinned)
        if not pinned:
            builder.runtime("cudaStreamSynchronize", at + 28, queued - 15)
        at = end + 5
        for _ in range(4):
            builder.op("aten::add", at, late / 4 - 2)
            builder.launch(at + late / 4 - 10, kernel_start=at + late / 4, kernel_dur=5, name="add", op=None)
            at += late / 4
        builder.step(number, begin, at - begin)
    return builder


def test_one_number_a_step_after_which_the_device_idles() -> None:
    found = judged(RULE, one_number(queued=5_000, late=2_000))
    assert found.finding.title == "A small copy makes the host wait"
    assert "late by the wait" in found.finding.why
    assert any("non_blocking" in fix.code for fix in found.finding.fix)
    # The four adds would be launched beside the product: the device idles some 2 ms of 7 behind the wait.
    assert found.ns_per_step == pytest.approx(1_980_000, rel=0.03)


def test_likely_is_what_is_launched_late_behind_the_wait() -> None:
    """The ops of 500 us behind the wait, and not the time between them, in which the host may be waiting for something else."""
    saving = judged(RULE, one_number(queued=5_000, late=2_000)).finding.saving
    assert saving.usual_claims is not None
    assert saving.usual_claims.total_ns / 5_000 == pytest.approx(1_950, rel=0.03)


def dispatched(*, each: float) -> TraceBuilder:
    """Five steps of 25 small pinned copies, each in an op of so many microseconds on an idle device."""
    builder = TraceBuilder()
    for number in range(5):
        at = number * 10_000
        builder.step(number, at, 10_000)
        for index in range(25):
            begin = at + index * (each + 2)
            builder.op("aten::to", begin, each)
            builder.copy("HtoD", begin + 4, 8, start=begin + 13, dur=2, size=64, op=None, pinned=True)
        builder.launch(at + 5_000, kernel_start=at + 5_010, kernel_dur=4_980)
    return builder


@pytest.mark.parametrize("each", [20, 60])
def test_the_ops_around_many_small_copies_go_with_them(each: float) -> None:
    found = judged(RULE, dispatched(each=each))
    # But for the microsecond in which a launched copy starts.
    assert found.finding.saving.claims.total_ns / 5 == pytest.approx(25 * (each - 1) * 1_000, rel=0.001)
    # At most the Python between them goes too, 2 us each, and beside the first and the last as much as an op takes.
    assert found.ns_per_step == pytest.approx(25 * each * 1_000 + 26 * 2_000 + 2 * (each - 2) * 1_000, rel=0.1)
    assert found.ns_per_step >= 25 * each * 1_000 + 24 * 2_000


def sent_in_turns(*, slow: bool, scale: float = 0.06) -> Clocked:
    """`torch.tensor(n, device="cuda")` in each of 24 layers, or nothing: 9 us of Python, five ops and a wait each.

    The host takes as long to launch a layer as the device to compute one of a scale of 0.06.
    """
    world = Clocked()
    for _ in world.steps(6):
        for _ in range(24):
            layers(world, 1, scale)
            if slow:
                number_sent(world)
            world.kernel_of("aten::mul", ADD, 4)
        layers_back(world, 24, 2 * scale)
        update(world, dur=600)
        world.read_value()
    return world


@pytest.mark.parametrize("scale", [0.03, 0.06, 0.1, 0.5])
def test_likely_is_most_of_what_came_whether_the_host_waits_or_makes_beside_the_busy_device(scale: float) -> None:
    """The shorter the layers, the more of a tensor is made beside the device, and the less is waited for it."""
    slow, fast = (Facts(sent_in_turns(slow=slow, scale=scale).trace()) for slow in (True, False))
    saved = slow.steps.per_step(slow.steps.total_ns) - fast.steps.per_step(fast.steps.total_ns)
    assert 0.7 * saved <= judged(RULE, sent_in_turns(slow=True, scale=scale)).usual_ns_per_step <= saved


def test_what_is_made_and_not_waited_for_is_not_likely_to_delay_what_follows() -> None:
    saving = judged(RULE, dispatched(each=60)).finding.saving
    assert saving.likely_claims == saving.claims
    assert saving.behind.total_ns > 0


def test_at_most_holds_what_making_the_tensors_takes() -> None:
    slow, fast = (Facts(sent_in_turns(slow=slow).trace()) for slow in (True, False))
    saved = slow.steps.per_step(slow.steps.total_ns) - fast.steps.per_step(fast.steps.total_ns)
    found = judged(RULE, sent_in_turns(slow=True))
    assert saved <= found.ns_per_step <= 1.2 * saved
    assert found.usual_ns_per_step < saved
    assert run(RULE, sent_in_turns(slow=False)).state is not State.FIRED


def test_a_number_after_which_the_device_has_work_at_once_costs_nothing() -> None:
    assert run(RULE, one_number(queued=5_000, late=120)).state is State.CLEAR


def test_a_number_that_nothing_waits_for_costs_nothing() -> None:
    assert run(RULE, one_number(queued=5_000, late=2_000, pinned=True)).state is State.CLEAR


def test_copies_of_a_recording_without_ops_are_counted_all_the_same() -> None:
    """Without `activities=CPU` calls of the runtime are there, and nothing around them."""
    builder = world()
    builder.events[:] = [event for event in builder.events if event.get("cat") != "cpu_op"]
    assert judged(RULE, builder).finding.steps_seen == 3
