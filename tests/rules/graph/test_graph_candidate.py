"""GR004: each step launches the same ten short kernels, and the device waits for each launch."""

from __future__ import annotations

import pytest

from analyzer.engine import Judged
from analyzer.finding import State
from building.builders import TraceBuilder
from building.clocked import Clocked
from building.dialects import torch_1_9
from rules.graph.graph_candidate import RULE
from rules.sync.blocking_launch import RULE as BLOCKING
from running.one_rule import judged, run
from stories.models import ADD, blocks, blocks_back, update


def world(
    *,
    lead: float = 3,
    steps: int = 4,
    odd: frozenset[int] = frozenset(),
    call: str | None = None,
    every: float = 100,
    dur: float = 20,
    works: float = 0,
    late: float = 0,
) -> TraceBuilder:
    """Steps of ten kernels of 20 us, one every 100 us; `odd` steps launch another first kernel; `call` adds a runtime call.

    Each step begins with an op that works on the host for `works` us. Its sixth kernel starts `late` us later, for no reason.
    """
    builder = TraceBuilder()
    for number in range(steps):
        at = number * (10 * every + works)
        builder.step(number, at, 10 * every + works)
        if works:
            builder.op("aten::nonzero", at, works)
            at += works
        for index in range(10):
            launch = at + index * every
            name = f"odd_{number}" if number in odd and index == 0 else f"kernel_{index}"
            builder.op("aten::add", launch, every - 30)
            builder.launch(
                launch + 60, kernel_start=launch + 65 + lead + late * (index == 5), kernel_dur=dur, name=name, op=None
            )
        if call == "copy":
            builder.copy("DtoH", at + 80, 5, start=at + 90, dur=2)
        elif call:
            builder.runtime(call, at + 75, 5)
    return builder


def test_fires_with_the_idle_time_of_launching() -> None:
    found = judged(RULE, world())
    # Ten kernels of 20 us a millisecond: the rest is launching, the 3 us between call and start among it.
    assert found.ns_per_step == pytest.approx(800_000, abs=10_000)
    assert found.finding.why.startswith("100 % of the steps launch the same 10 kernels")


@pytest.mark.parametrize(("each", "state"), [(3_000, State.CLEAR), (20, State.FIRED)])
def test_work_of_several_ops_on_the_host_cannot_be_replayed_either(each: float, state: State) -> None:
    """Two ops that share most of the idle time, none of which owns more than half: what works for milliseconds, or dispatches."""
    builder = TraceBuilder()
    length = 2 * each + 1_000
    for number in range(4):
        at = number * length
        builder.step(number, at, length)
        builder.op("aten::sort", at, each)
        builder.op("aten::unique_dim", at + each, each)
        for index in range(10):
            start = at + 2 * each + index * 100
            builder.op(f"aten::op{index}", start, 70)
            builder.launch(start + 60, kernel_start=start + 66, kernel_dur=20, name=f"k{index}", op=None)
    result = run(RULE, builder)
    assert result.state is state
    if state is State.CLEAR:
        assert (
            "the host works inside `aten::sort` for 44 % and `aten::unique_dim` for 44 % of the idle time"
            in result.reason
        )


@pytest.mark.parametrize(("steps", "said"), [(1, "10 launches of single kernels"), (2, "SY005")])
def test_what_is_said_of_launches_that_wait_is_what_sy005_says(steps: int, said: str) -> None:
    """Of launches that outlast their kernel twenty are a setting of the process, and fewer are nothing to name."""
    builder = world(steps=steps)
    for event in builder.events:
        if event["cat"] == "cuda_runtime":
            event["dur"] = 40
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert said in result.reason
    assert (run(BLOCKING, builder).state is State.FIRED) is (said == "SY005")


@pytest.mark.parametrize(("each", "calls", "state"), [(3_000, 1, State.CLEAR), (50, 60, State.FIRED)])
def test_work_of_one_op_on_the_host_cannot_be_replayed(each: float, calls: int, state: State) -> None:
    """Beside 0.8 ms of launching each step holds 3 ms in one kind of op: one call of its own work, or sixty that dispatch."""
    builder = TraceBuilder()
    for number in range(4):
        at = float(number * 4_100)
        builder.step(number, at, 4_100)
        for index in range(calls):
            builder.op("aten::nonzero", at + index * each, each)
        for index in range(10):
            launch = at + 3_000 + index * 100
            builder.op(f"aten::{('add', 'mul', 'sub')[index % 3]}", launch, 90)
            builder.launch(launch + 60, kernel_start=launch + 68, kernel_dur=20, name=f"kernel_{index}", op=None)
    result = run(RULE, builder)
    assert result.state is state
    assert ("the host works inside `aten::nonzero` for" in result.reason) is (state is State.CLEAR)


def test_what_launched_work_waits_for_unseen_stays_in_a_graph() -> None:
    """The device idles 200 us longer in each step, for an event or another process: replaying launches the same wait."""
    plain, waiting = judged(RULE, world(every=400)), judged(RULE, world(every=400, late=200))
    # Of the idle time that launching owns 200 us are this wait's now, and the 3 us that starting took are part of it.
    assert plain.ns_per_step - waiting.ns_per_step == pytest.approx(203_000, abs=500)
    assert plain.usual_ns_per_step - waiting.usual_ns_per_step == pytest.approx(203_000, abs=500)


def test_not_applicable_where_the_queue_is_full() -> None:
    assert run(RULE, world(lead=30)).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("copy", "copy results to the host"),
        ("cudaStreamSynchronize", "wait for the device"),
        ("cudaMalloc", "allocate device memory"),
    ],
)
def test_quiet_where_something_cannot_be_captured(call: str, reason: str) -> None:
    result = run(RULE, world(call=call))
    assert result.state is State.CLEAR
    assert reason in result.reason


@pytest.mark.parametrize(("odd", "state"), [({0, 1}, State.FIRED), ({0, 1, 2}, State.CLEAR)])
def test_boundary_of_equal_steps(odd: set[int], state: State) -> None:
    assert run(RULE, world(odd=frozenset(odd))).state is state


@pytest.mark.parametrize(("limit", "state"), [(0.75, State.FIRED), (0.80, State.CLEAR)])
def test_boundary_of_launching(limit: float, state: State) -> None:
    assert run(RULE, world(), {"min_ratio": limit}).state is state


def test_cannot_tell_from_one_step() -> None:
    assert run(RULE, world(steps=1)).state is State.CANNOT_TELL


def test_a_torch_without_a_compiler_captures_by_hand() -> None:
    (fix,) = judged(RULE, torch_1_9(world())).finding.fix
    assert "make_graphed_callables" in fix.code


def test_python_beside_the_model_is_not_what_a_graph_removes() -> None:
    builder = world(every=100)
    for event in builder.events:
        # Ten times as long steps: 9 ms of Python before the first launch of each.
        number = int(event["ts"] // 1_000)
        event["ts"] += number * 9_000 + (0 if event["name"].startswith("ProfilerStep") else 9_000)
        if event["name"].startswith("ProfilerStep"):
            event["dur"] = 10_000
    assert run(RULE, builder).state is State.CLEAR
    found = run(RULE, builder, {"min_ratio": 0.05}).findings[0]
    assert found.saving.claims.total_ns / 4 == pytest.approx(770_000, abs=40_000)


def test_python_between_the_launches_of_a_step_is_in_the_bound_and_not_expected() -> None:
    builder = world()
    for event in builder.events:
        # 2 ms of Python in the middle of each step, between its fifth and its sixth launch.
        number, into = divmod(event["ts"], 1_000)
        event["ts"] += number * 2_000 + (2_000 if into >= 500 else 0)
        if event["name"].startswith("ProfilerStep"):
            event["dur"] = 3_000
    found = judged(RULE, builder)
    # Of 3 ms all but ten kernels of 20 us, with and without the stretch between two ops (30 us of it would be there anyway).
    assert found.ns_per_step == pytest.approx(2_800_000, abs=15_000)
    assert found.usual_ns_per_step == pytest.approx(800_000, abs=50_000)


def test_several_devices_are_not_captured_together() -> None:
    builder = world()
    builder.launch(90, kernel_start=95, kernel_dur=1, device=1, op=None)
    assert "several devices" in run(RULE, builder).reason


def test_cannot_tell_where_the_clocks_disagree() -> None:
    builder = world()
    for event in builder.events:
        if event["cat"] == "kernel":
            event["ts"] -= 90
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_cannot_tell_where_launches_wait() -> None:
    builder = world()
    for event in builder.events:
        if event["name"] == "cudaLaunchKernel":
            event["dur"] = 35
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert "SY005" in result.reason


def test_the_way_from_one_queued_kernel_to_the_next_is_bound_but_not_likely() -> None:
    """Behind the third kernel of each step stands one that was queued: what lies between them a graph may make shorter, or not."""

    def queued(gap: float) -> Judged:
        builder = world()
        for number in range(4):
            launch = number * 1_000 + 266.0
            builder.launch(launch, kernel_start=launch + 22 + gap, kernel_dur=10, name="behind", op=None, call_dur=1)
        return judged(RULE, builder)

    plain, apart = queued(0), queued(4)
    assert (apart.ns_per_step - apart.usual_ns_per_step) - (plain.ns_per_step - plain.usual_ns_per_step) == 4_000


def averaged(*, behind: bool, weights: int = 320) -> TraceBuilder:
    """Weights averaged one by one behind each backward pass, or as many short ops in the forward pass."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(0 if behind else weights):
            for op in ("mul_", "mul", "add_"):
                world.kernel_of(f"aten::{op}", ADD, 3, host=11)
        blocks(world, 20, 0.3)
        blocks_back(world, 20, 0.3)
        update(world, dur=100)
        for _ in range(weights if behind else 0):
            for op in ("mul_", "mul", "add_"):
                world.kernel_of(f"aten::{op}", ADD, 3, host=11)
    return world


@pytest.mark.parametrize(("behind", "state"), [(True, State.CLEAR), (False, State.FIRED)])
def test_a_graph_of_the_model_does_not_hold_what_is_behind_its_backward_pass(behind: bool, state: State) -> None:
    result = run(RULE, averaged(behind=behind))
    assert result.state is state
    if behind:
        assert (
            "in loops over tensors behind the backward pass, which a graph of the model leaves as it is"
            in result.reason
        )


def test_loops_behind_the_backward_pass_are_in_the_bound_and_not_in_what_is_likely() -> None:
    behind, inside = (judged(RULE, averaged(behind=where, weights=40)) for where in (True, False))
    left_ns = behind.ns_per_step - behind.usual_ns_per_step
    assert left_ns > 900_000
    assert inside.ns_per_step - inside.usual_ns_per_step < 0.5 * left_ns
