"""PY001: a step that prepares its batch with NumPy for 40 ms before it calls the first op."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import Confidence, Severity, State, Table
from building.builders import AUTOGRAD, MAIN, TraceBuilder
from rules.data_loading.input_bound import RULE as INPUT
from rules.python.python_overhead import RULE
from running.one_rule import judged, run

STEP = 100_000
# What the collector writes of its empty loop on a quiet machine.
QUIET = {"turns": 10_000, "mean_ns": 175_000}


def world(
    *, gap: float = 40_000, device: str | None = "cuda", loader: bool = False, busy: bool = False
) -> TraceBuilder:
    """Steps of 100 ms that begin with `gap` us without any event."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        if loader:
            builder.loader(at, gap)
        if device is None:
            builder.op("aten::linear", at + gap, STEP - gap)
        else:
            start = at if busy else at + gap
            builder.launch(start, kernel_start=start + 5, kernel_dur=STEP - (start - at) - 5)
    return builder


def test_an_engine_has_no_simulator_and_no_loop_of_the_users() -> None:
    """The same gaps after a value was read: in an engine they are its scheduler's, in a program of one's own perhaps a world's."""

    def told(engine: str | None) -> str:
        builder = world()
        for number in range(3):
            at = number * STEP
            for index in range(4):
                builder.op("aten::item", at + index * 10_000, 20)
            if engine is not None:
                builder.annotation(engine, at + 40_000, 50_000)
        return " ".join(fix.code for fix in judged(RULE, builder).finding.fix)

    assert "gymnasium" in told(None)
    assert "async_scheduling" not in told(None)
    served = told("execute_context_0(0)_generation_32(32)")
    assert "gymnasium" not in served
    assert "executor" not in served
    assert "async_scheduling=True" in served


def test_fires_with_the_gap() -> None:
    found = judged(RULE, world())
    # At most 5 us more: the host is silent as long beside the kernel's start too, and late with the next launch by that.
    assert (found.usual_ns_per_step, found.ns_per_step) == (40_000_000, 40_005_000)
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.MEDIUM)
    # Before the first step's gap the trace holds no op.
    assert found.finding.why == (
        "The GPU idles 40 ms of each 100 ms step (40 %) in host code outside any PyTorch op; "
        "67 % of it lies after `aten::add` and before `aten::add`."
    )
    assert "--stacks" in found.finding.fix[0].code


def test_fires_on_the_cpu() -> None:
    assert judged(RULE, world(device=None)).ns_per_step == 40_000_000


def paused(long: tuple[int, ...], *, gap: float, usual: float = 0, device: str | None = None) -> TraceBuilder:
    """Nine steps of 10 ms, those in `long` longer by `gap` us before their op, the others by `usual`."""
    builder, at = TraceBuilder(device, advisor={"python_loop": QUIET, "gc_recorded": True}), 0.0
    for number in range(9):
        more = gap if number in long else usual
        builder.step(number, at, 10_000 + more)
        if device is None:
            builder.op("aten::linear", at + more, 10_000)
        else:
            builder.launch(at + more, kernel_start=at + more + 5, kernel_dur=9_995)
        at += 10_000 + more
    return builder


@pytest.mark.parametrize("device", [None, "cuda"])
@pytest.mark.parametrize(
    ("long", "usual", "said", "confidence"),
    [
        (
            (4,),
            0,
            "30 ms in all (25 % of the recorded steps), most of it in 1 of 9 steps, in host code",
            Confidence.LOW,
        ),
        (
            (4,),
            800,
            "36 ms in all (29 % of the recorded steps), most of it in 1 of 9 steps, in host code",
            Confidence.LOW,
        ),
        ((1, 4, 7), 0, "90 ms in all (50 % of the recorded steps), most of it in 3 of 9 steps, in", Confidence.MEDIUM),
        ((0, 2, 4, 6, 8), 0, "of each 27 ms step (62 %) in host code", Confidence.MEDIUM),
        ((4,), 8_000, "of each 20 ms step (51 %) in host code", Confidence.MEDIUM),
    ],
    ids=["once", "once and a little", "in some", "in many", "in all, and once more"],
)
def test_what_few_steps_hold_is_told_of_these(
    device: str | None, long: tuple[int, ...], usual: float, said: str, confidence: Confidence
) -> None:
    found = judged(RULE, paused(long, gap=30_000, usual=usual, device=device))
    few = "most of it in" in said
    assert said in found.finding.why
    assert found.finding.confidence is confidence
    assert any("how often this happens" in caveat for caveat in found.finding.caveats) is few
    assert ("how often it comes" in found.finding.saving.basis) is few
    assert any("what comes every few steps" in advice.code for advice in found.finding.fix) is few
    if few:
        assert found.finding.steps_seen == len(long)
    assert (found.severity is Severity.LOW) is (confidence is Confidence.LOW)


def rollout(each: float, between: float, turns: int = 100) -> TraceBuilder:
    """Steps on the CPU in which a policy of two ops is asked for an action, its value is read, and the program goes on with it."""
    builder, at = TraceBuilder(None, advisor={"python_loop": QUIET}), 0.0
    for number in range(3):
        length = turns * (3 * each + between)
        builder.step(number, at, length)
        for turn in range(turns):
            when = at + turn * (3 * each + between)
            for place, name in enumerate(("aten::linear", "aten::tanh", "aten::item")):
                builder.op(name, when + place * each, each)
        at += length
    return builder


def test_short_stretches_that_are_much_together_are_a_question_not_a_clean_bill() -> None:
    result = run(RULE, rollout(20, 80))
    assert result.state is State.CANNOT_TELL
    assert "takes 57 % of the step in stretches below 100 us; 100 % of it lies after `aten::item`" in result.reason
    assert "--stacks" in result.reason
    assert run(RULE, rollout(100, 60)).state is State.CLEAR


def test_a_program_that_acts_on_values_it_reads_is_told_of_several_simulators() -> None:
    assert any("AsyncVectorEnv" in advice.code for advice in judged(RULE, rollout(20, 150)).finding.fix)
    assert not any("AsyncVectorEnv" in advice.code for advice in judged(RULE, world()).finding.fix)


@pytest.mark.parametrize(
    ("loop", "imported", "said"),
    [
        ([], {}, "DataLoader"),
        ([], {"gymnasium": "1.0"}, "AsyncVectorEnv"),
        (["stable_baselines3.dqn"], {"gymnasium": "1.0", "stable_baselines3": "2.9"}, "make_vec_env("),
    ],
)
@pytest.mark.parametrize("loads", [False, True])
def test_a_program_that_steps_environments_is_told_of_no_loader(
    loop: list[str], imported: dict[str, str], said: str, loads: bool
) -> None:
    """What an environment computes lies after `.numpy()`, which reads no value by itself. One with a loader may prepare data."""
    builder = rollout(20, 150)
    builder.top["advisor"]["frameworks"] = {"imported": imported, "loop": loop, "data": []}
    for event in builder.events:
        event["name"] = event["name"].replace("aten::item", "aten::resolve_neg")
    builder.optimizer(10, 20)
    if loads:
        builder.loader(30, 5)
    codes = "\n".join(advice.code for advice in judged(RULE, builder).finding.fix)
    assert ("DataLoader" if loads else said) in codes
    assert ("DataLoader" in codes) is (loads or not imported)


def test_after_reading_the_loss_once_a_step_the_next_batch_comes_first_to_mind() -> None:
    builder = TraceBuilder()
    for number in range(3):
        step = number * 100_000.0
        builder.step(number, step, 100_000)
        for layer in range(40):
            builder.op("aten::linear", step + layer * 1_000, 999)
            builder.launch(step + layer * 1_000, kernel_start=step + layer * 1_000 + 10, kernel_dur=990, op=None)
        builder.optimizer(step + 40_000, 10)
        builder.op("aten::item", step + 40_100, 100)
        builder.copy("DtoH", step + 40_110, 80, start=step + 40_150, dur=5, size=4, op=None)
        builder.copy("HtoD", step + 100, 10, start=step + 120, dur=5, size=4_096)
    codes = [advice.code for advice in judged(RULE, builder).finding.fix]
    loads, simulates = (
        next(place for place, code in enumerate(codes) if word in code) for word in ("DataLoader", "AsyncVector")
    )
    assert loads < simulates


@pytest.mark.parametrize(("after", "told"), [("aten::add", True), ("enumerate(DataLoader)#_It.__next__", False)])
def test_reading_a_whole_tensor_off_the_device_is_acting_on_it_too(after: str, told: bool) -> None:
    """`.cpu()` and then 5 ms outside any op, ten times a step; a program that goes on to the next batch steps no simulator."""
    builder = TraceBuilder()
    for number in range(3):
        step = number * 100_000.0
        builder.step(number, step, 100_000)
        for turn in range(10):
            at = step + turn * 10_000
            builder.launch(at, kernel_start=at + 10, kernel_dur=100, op="aten::linear")
            builder.op("aten::to", at + 10, 200)
            builder.copy("DtoH", at + 20, 180, start=at + 120, dur=10, size=4_096)
            # What the world answers.
            builder.copy("HtoD", at + 5_400, 10, start=at + 5_405, dur=5, size=4_096, op=None)
            if told:
                builder.op(after, at + 5_300, 10)
            else:
                builder.annotation(after, at + 5_300, 10)
                builder.op("aten::add", at + 5_400, 5)
    fixes = judged(RULE, builder).finding.fix
    assert any("AsyncVectorEnv" in advice.code for advice in fixes) is told


def sending(builder: TraceBuilder) -> TraceBuilder:
    """The same, and a batch is sent where the gap of each step ends."""
    for number in range(3):
        at = number * STEP + 39_970
        builder.copy("HtoD", at, 10, start=at + 12, dur=10, size=4 << 20, pinned=True)
    return builder


def test_a_program_that_only_runs_its_model_is_told_of_no_loader() -> None:
    assert "executor.submit" in judged(RULE, sending(world())).finding.fix[1].code
    training = sending(world())
    training.optimizer(10, 20)
    assert "DataLoader" in judged(RULE, training).finding.fix[1].code


def test_names_the_users_function_with_most_own_time() -> None:
    builder = world()
    for number in range(3):
        at = number * STEP
        builder.python("/home/someone/work/train.py(10): main", at, STEP)
        builder.python("/home/someone/work/data/prepare.py(7): augment", at + 1_000, 36_000)
        builder.python("numpy/core/fromnumeric.py(3): clip", at + 2_000, 30_000)
    found = judged(RULE, builder)
    assert found.finding.location is not None
    assert (found.finding.location.file, found.finding.location.function) == ("data/prepare.py", "augment")
    assert "most of it (90 %) in `augment` (data/prepare.py, from line 7)" in found.finding.why
    assert found.confidence is Confidence.HIGH


def test_many_recorded_calls_inflate_it() -> None:
    builder = world()
    for number in range(3):
        for index in range(1_000):
            builder.python("train.py(10): tick", number * STEP + index * 40, 10)
    found = judged(RULE, builder)
    assert found.severity is Severity.MEDIUM
    assert "slows Python down" in found.finding.caveats[0]


def test_waiting_for_the_loader_is_not_claimed() -> None:
    builder = world(loader=True)
    assert run(RULE, builder).state is State.CLEAR
    assert run(INPUT, builder).state is State.FIRED


def test_quiet_beside_a_busy_device() -> None:
    assert run(RULE, world(busy=True)).state is State.CLEAR


@pytest.mark.parametrize(("gap", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(gap: float, state: State) -> None:
    assert run(RULE, world(gap=gap)).state is state


def test_cannot_tell_where_the_device_was_not_recorded() -> None:
    builder = world(device=None)
    builder.op("aten::cudnn_convolution", 50_000, 10)
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert "PG005" in result.reason


def test_a_filtered_trace_cannot_tell() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 100_000, 100_000)
    # All ops are on another thread than the step marks: the training thread's were filtered out.
    builder.launch(50_000, kernel_start=50_010, kernel_dur=20_000, thread=AUTOGRAD)
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert "0 ops and calls" in result.reason


def test_unsure_where_kernels_are_launched_outside_any_op() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(4):
            start = at + 40_000 + index * 15_000
            builder.launch(start, kernel_start=start + 5, kernel_dur=14_000, op="aten::mm" if index else None)
    found = judged(RULE, builder)
    assert found.confidence is Confidence.LOW
    assert any("launched outside any op" in caveat for caveat in found.finding.caveats)


def test_cannot_tell_where_only_the_optimizer_of_the_training_thread_was_recorded() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP).optimizer(at + 90_000, 1_000)
        builder.op("aten::add_", at + 90_100, 800)
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_a_list_of_small_ops_in_a_part_of_the_step_is_told_once() -> None:
    """Samples prepared one by one with torch ops while the GPU idles; later the queue is deep."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(40):
            builder.op("aten::div", at + index * 1_000, 200)
            builder.op("aten::permute", at + index * 1_000 + 300, 200)
        start = at + 40_000
        for index in range(30):
            kernel = start + 100 + index * 1_995
            builder.launch(start + index * 10, kernel_start=kernel, kernel_dur=1_995)
    findings = explain_facts(Facts(builder.trace())).analysis.findings
    (told,) = (one for one in findings if one.rule in ("PY001", "PY003"))
    assert told.rule == "PY003"
    # Forty turns of a millisecond, of which one has to stay for each op.
    assert told.saving.ns_per_step_max == pytest.approx(39_000_000, rel=0.02)


def pausing(gap: int, loop: object) -> TraceBuilder:
    """CPU steps with a gap before each op of 0.5 ms; `loop` is what the collector wrote of its own."""
    builder = TraceBuilder(None, advisor={} if loop is None else {"python_loop": loop})
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        for begin in range(at, at + 10_000, 500):
            # A fifth of the step is gaps, each as long as an interpreter and a profiler need; or a little longer.
            builder.op("aten::add", begin + gap, 500 - gap)
    return builder


@pytest.mark.parametrize(("gap", "state"), [(99, State.CLEAR), (101, State.FIRED)])
def test_on_the_cpu_the_way_from_one_op_to_the_next_is_not_counted(gap: int, state: State) -> None:
    assert run(RULE, pausing(gap, QUIET)).state is state


def entering(gap: int, what: str) -> TraceBuilder:
    """CPU steps of 2 ms in which one way of `gap` us leads to `what`."""
    builder = TraceBuilder(None, advisor={"python_loop": QUIET})
    for number in range(4):
        at = number * 2_000
        builder.step(number, at, 2_000)
        builder.op("aten::add", at, 1_000)
        if what == "optimizer":
            builder.optimizer(at + 1_000 + gap, 1_000 - gap)
        elif what == "loader":
            builder.loader(at + 1_000 + gap, 1_000 - gap)
        else:
            builder.op(what, at + 1_000 + gap, 1_000 - gap)
    return builder


@pytest.mark.parametrize("what", ["optimizer", "loader", "aten::ones_like", "aten::mul"])
@pytest.mark.parametrize("gap", [101, 299, 301])
def test_into_the_loader_the_backward_pass_and_the_optimizer_torch_has_a_longer_way(gap: int, what: str) -> None:
    result = run(RULE, entering(gap, what))
    assert result.state is (State.FIRED if gap > 300 or what == "aten::mul" else State.CLEAR)


@pytest.mark.parametrize(("gap", "state"), [(249, State.CANNOT_TELL), (251, State.FIRED)])
def test_on_a_slow_or_busy_core_that_way_is_longer(gap: int, state: State) -> None:
    loop = {"turns": 20_000, "mean_ns": 875_000}
    result = run(RULE, pausing(gap, loop))
    assert result.state is state
    if state is State.FIRED:
        (found,) = result.findings
        assert found.caveats[-1] == (
            "Beside the recording an empty loop took 2.5 times as long as on a quiet machine, so stretches count from 250 us on."
        )
    else:
        assert "in stretches below 250 us" in result.reason


def test_where_a_slow_core_leaves_little_to_tell_the_limit_is_said() -> None:
    reason = run(RULE, pausing(60, {"turns": 10_000, "mean_ns": 525_000})).reason
    assert "an empty loop took 3.0 times as long as on a quiet machine, so stretches count from 300 us on" in reason
    assert "empty loop" not in run(RULE, pausing(60, QUIET)).reason


@pytest.mark.parametrize("loop", [None, {}, {"turns": 0, "mean_ns": 5}, {"turns": True, "mean_ns": 5}, "slow", [3]])
@pytest.mark.parametrize(("gap", "state"), [(101, State.CANNOT_TELL), (299, State.CANNOT_TELL), (301, State.FIRED)])
def test_where_nobody_timed_a_loop_a_slow_core_must_not_explain_it(gap: int, state: State, loop: object) -> None:
    result = run(RULE, pausing(gap, loop))
    assert result.state is state
    assert state is State.FIRED or "How slow this one was is not recorded; `advisor collect` times" in result.reason


def test_on_a_device_all_idle_time_counts_however_slow_the_core() -> None:
    builder = world()
    builder.top["advisor"] = {"python_loop": {"turns": 10_000, "mean_ns": 90_000_000}}
    found = judged(RULE, builder)
    assert (found.usual_ns_per_step, found.finding.caveats) == (40_000_000, judged(RULE, world()).finding.caveats)


def saving_each_step(*, each: float = 1_500, after: str = "aten::item") -> TraceBuilder:
    """CPU steps of 10 ms: an op, then `each` us without any, then another op to the end."""
    builder = TraceBuilder(None)
    for number in range(4):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.op(after, at, 1_000)
        builder.op("aten::randn", at + 1_000 + each, 9_000 - each)
    return builder


def test_without_stacks_the_place_is_named_by_the_ops_around_it() -> None:
    found = judged(RULE, saving_each_step()).finding
    assert found.why.endswith("; 100 % of it lies after `aten::item` and before `aten::randn`.")
    (table,) = [piece for piece in found.evidence if isinstance(piece, Table)]
    assert table.rows == (("aten::item", "aten::randn", 1, 1_500_000),)


@pytest.mark.parametrize(
    ("after", "measured"), [("aten::resolve_neg", True), ("aten::item", False), ("aten::add", False)]
)
def test_arrays_made_once_a_step_may_be_for_a_metric(after: str, *, measured: bool) -> None:
    found = judged(RULE, saving_each_step(after=after)).finding
    assert ("(`.numpy()` and `.tolist()` end with it)" in found.why) is measured
    assert any("Where it is a metric" in one.code for one in found.fix) is measured


def test_an_update_before_it_is_named_as_a_whole() -> None:
    builder = saving_each_step(after="aten::addcdiv_")
    for number in range(4):
        builder.optimizer(number * 10_000, 1_000)
    assert "after `Optimizer.step#Adam.step` and before `aten::randn`" in judged(RULE, builder).finding.why


@pytest.mark.parametrize(
    ("dur", "state", "said"),
    [
        (50, State.CANNOT_TELL, "takes 50 % of the step in stretches below 100 us"),
        (90, State.CLEAR, "stretches too short to tell from the way to the next op take 10 %"),
    ],
)
def test_many_short_stretches_are_said_to_be_there(dur: float, state: State, said: str) -> None:
    builder = TraceBuilder(None)
    for number in range(4):
        builder.step(number, number * 10_000, 10_000)
        for index in range(100):
            builder.op(f"aten::op{index * index % 17}", number * 10_000 + index * 100, dur)
    result = run(RULE, builder)
    assert result.state is state
    assert said in result.reason


@pytest.mark.parametrize(("way", "thread", "fires"), [(99, AUTOGRAD, False), (101, AUTOGRAD, True), (99, MAIN, True)])
def test_the_short_way_to_the_next_node_is_the_engines(way: float, thread: int, fires: bool) -> None:
    """60 ms of each step in nodes of 100 us, as many gaps between them: the backward thread's, or the training thread's own."""
    builder = TraceBuilder()
    node = "autograd::engine::evaluate_function: MulBackward0"
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP).op("aten::ones_like", at, 5)
        for index in range(300):
            builder.op(node, at + 10 + index * (100 + way), 100, thread=thread)
        end = at + 10 + 300 * (100 + way)
        builder.launch(end, kernel_start=end + 5, kernel_dur=at + STEP - end - 5, thread=thread, op=None)
    result = run(RULE, builder)
    assert (result.state is State.FIRED) is fires
    assert Facts(builder.trace()).time.waterfall.owned("python").total_ns > 3 * 29_000_000


@pytest.mark.parametrize("inside", [True, False])
def test_silence_in_the_backward_pass_is_not_sent_to_the_loader(inside: bool) -> None:
    """30 ms between two nodes on the backward thread, or the same time between forward and backward."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.launch(at, kernel_start=at + 5, kernel_dur=9_995, op="aten::ones_like", call_dur=5)
        node = "autograd::engine::evaluate_function: MulBackward0"
        if inside:
            builder.op(node, at + 10, 9_990, thread=AUTOGRAD)
        builder.op(node, at + 40_000, 50_000, thread=AUTOGRAD)
        builder.launch(at + 40_000, kernel_start=at + 40_005, kernel_dur=59_995, thread=AUTOGRAD, op=None)
        builder.optimizer(at + 95_000, 4_000)
    found = judged(RULE, builder).finding
    # The queue runs dry at 10 ms, and the next launch is at 40 ms.
    assert found.saving.claims.total_ns == 3 * 30_000_000
    assert ("lies between nodes of the backward pass" in found.why) is inside
    assert not any("DataLoader" in advice.code for advice in found.fix)
    assert any("hooks" in caveat for caveat in found.caveats) is inside


@pytest.mark.parametrize(
    ("name", "state"), [("aten::cudnn_is_acceptable", State.FIRED), ("aten::cudnn_convolution", State.CANNOT_TELL)]
)
def test_asking_whether_cudnn_would_do_is_no_device(name: str, state: State) -> None:
    builder = world(device=None)
    builder.op(name, 50_000, 5)
    assert run(RULE, builder).state is state


def test_a_call_outside_any_op_names_the_place() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::copy_", at, 10)
        call = builder.runtime("cudaGraphLaunch", at + 40_000, 10)
        builder.kernel("gemm", at + 40_020, 59_000, correlation=call)
    assert "after `aten::copy_` and before `cudaGraphLaunch`" in judged(RULE, builder).finding.why


@pytest.mark.parametrize(("workers", "word"), [(0, "num_workers=4"), (4, "__getitem__")])
def test_a_program_with_workers_is_not_told_to_start_some(workers: int, word: str) -> None:
    builder = sending(world())
    for number in range(3):
        builder.op("AddmmBackward0", number * STEP + 90_000, 100)
        builder.loader(number * STEP + 99_000, 10, workers=workers)
    assert any(word in advice.code for advice in judged(RULE, builder).finding.fix)


@pytest.mark.parametrize(
    ("name", "own"),
    [("torch/profiler/profiler.py(700): start", False), ("torch/nn/modules/module.py(700): start", True)],
)
def test_what_a_profiler_does_is_not_the_programs(name: str, *, own: bool) -> None:
    builder = world()
    for number in range(3):
        builder.event(name, "python_function", number * STEP + 1, 39_990, args={"Python id": number + 1})
    assert (run(RULE, builder).state is State.FIRED) is own


@pytest.mark.parametrize(("gap", "state"), [(160, State.CLEAR), (299, State.CLEAR), (301, State.FIRED)])
def test_where_a_profiler_is_told_that_a_step_ends_it_has_a_longer_way(gap: int, state: State) -> None:
    """A way of `gap` us from the last op of a step to the first of the next, three fifths of it before the mark."""
    builder = TraceBuilder(None, advisor={"python_loop": QUIET})
    for number in range(5):
        at, before = number * 2_000, 3 * gap // 5
        builder.step(number, at, 2_000)
        builder.op("aten::add", at + gap - before, 2_000 - gap)
    assert run(RULE, builder).state is state


@pytest.mark.parametrize(
    ("steps", "last_op", "state"),
    [(1, False, State.CANNOT_TELL), (1, True, State.FIRED), (3, False, State.FIRED)],
    ids=["may be cut", "goes on", "not alone"],
)
@pytest.mark.parametrize("device", [None, "cuda"])
def test_the_silent_end_of_the_only_step_may_be_that_of_the_recording(
    steps: int, last_op: bool, state: State, device: str | None
) -> None:
    builder = TraceBuilder(device, advisor={"python_loop": QUIET})
    for number in range(steps):
        at = number * STEP
        builder.step(number, at, STEP)
        for begin, dur in ((0, 60_000), *(((99_000, 1_000),) if last_op else ())):
            if device is None:
                builder.op("aten::linear", at + begin, dur)
            else:
                builder.launch(at + begin, kernel_start=at + begin + 5, kernel_dur=dur - 10)
    result = run(RULE, builder)
    assert result.state is state
    assert ("the end of the only step" in (result.reason or "")) is (state is State.CANNOT_TELL)


def looked_at(functions: list[tuple[str, int]], *, of_loop: str = "lightning.pytorch", line: int = 7) -> TraceBuilder:
    """Nine tenths of the step outside ops at one line, which steps end at; and what looks at usual steps showed above it."""
    builder = sampled(900, text="trainer.fit(model)")
    places = [
        {"functions": [[name, "lightning/pytorch/callbacks/some.py"]], "samples": samples, "own": True, "line": 7}
        for name, samples in functions
    ]
    usual = {"samples": sum(samples for _, samples in functions), "places": places}
    told = builder.top["advisor"]
    told["run"] = {"between": {"usual": usual}}
    told["lines"]["step_line"] = {"file": "train.py", "line": line, "function": "main", "begins": 3}
    told["frameworks"] = {"imported": {}, "loop": [of_loop] if of_loop else [], "data": []}
    return builder


def test_what_a_framework_does_in_its_loop_is_told_by_looks_at_usual_steps() -> None:
    found = judged(
        RULE, looked_at([("Saver.on_train_batch_end", 2), ("Saver.save_checkpoint", 16), ("Fit.run", 2)])
    ).finding
    assert "In 80 % of the looks at steps that were not recorded `Saver.save_checkpoint` saves." in found.why
    assert "every_n_train_steps" in found.fix[0].code
    assert found.location is None


@pytest.mark.parametrize(
    "functions",
    [[("Saver.save_checkpoint", 14)], [("Fit.run", 20)], [("Saver.save_checkpoint", 8), ("Fit.run", 12)]],
    ids=["too few looks", "no name that tells", "too little of the time"],
)
def test_a_line_that_began_a_frameworks_loop_is_never_to_be_moved(functions: list[tuple[str, int]]) -> None:
    found = judged(RULE, looked_at(functions)).finding
    assert "train.py:7" not in found.why + found.fix[0].code
    assert "looks at steps" not in found.why


@pytest.mark.parametrize(
    ("of_loop", "loads", "own"),
    [
        ("lightning.pytorch", True, True),
        ("transformers.trainer", True, True),
        ("accelerate.optimizer", True, False),  # its loop is the program's own
        ("stable_baselines3.common", False, False),
        ("", True, False),
    ],
)
def test_a_frameworks_loop_that_nobody_looked_into_may_be_healthy(of_loop: str, loads: bool, own: bool) -> None:
    builder = TraceBuilder(None, advisor={"python_loop": QUIET})
    builder.top["advisor"]["frameworks"] = {"imported": {}, "loop": [of_loop] if of_loop else [], "data": []}
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        if loads:
            builder.loader(at, 5_000)
        builder.op("aten::linear", at + 40_000, 30_000)
        builder.op("aten::detach", at + 70_000, 30_000)
        builder.op("autograd::engine::evaluate_function: MmBackward0", at + 90_000, 5_000)
    found = judged(RULE, builder)
    codes = " ".join(advice.code for advice in found.finding.fix)
    assert ("runs the loop" in " ".join(found.finding.caveats)) is own
    assert ("More samples in each step" in codes) is own
    assert ("barebones" in codes) is (own and "lightning" in of_loop)
    assert "DataLoader(PreparedDataset" not in codes or not own
    assert (found.confidence is Confidence.LOW) is own


@pytest.mark.parametrize(("of_loop", "line"), [("", 7), ("lightning.pytorch", 9)])
def test_a_line_of_a_loop_of_the_programs_own_is_named(of_loop: str, line: int) -> None:
    """Where no framework runs the loop, or steps end at another line."""
    found = judged(RULE, looked_at([("Fit.run", 20)], of_loop=of_loop, line=line)).finding
    assert "train.py:7" in found.fix[0].code


def around(calls: dict[str, str], *, at_line: int = 600) -> TraceBuilder:
    """Six tenths of a step lie between two ops that `calls` has functions for, and lines were sampled in each."""
    rows = [
        {"loader": False, "file": "train.py", "line": line, "function": name, "begins": begins, "text": "x", "ns": ns}
        for name, begins, line, ns in (
            ("measure", 3, 5, at_line // 2),
            ("measure", 3, 6, at_line // 2),
            ("main", 20, 25, 400),
        )
    ]
    begins = {"measure": 3, "main": 20}
    where = [
        {"op": op, "file": "train.py", "line": begins[name], "function": name, "count": 10}
        for op, name in calls.items()
    ]
    part = {"processes": 1, "total_ns": 1000, "loader_ns": 0, "rows": rows}
    builder = TraceBuilder(None, advisor={"lines": {"training": part}, "where": where, "python_loop": QUIET})
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, 10_000)
        builder.op("aten::detach", at + 10_000, 10_000)
        builder.op("aten::stack", at + 80_000, 20_000)
    return builder


@pytest.mark.parametrize(
    ("calls", "at_line", "named"),
    [
        ({"aten::detach": "measure", "aten::stack": "measure"}, 600, "measure"),
        ({"aten::detach": "measure", "aten::stack": "main"}, 600, None),
        ({"aten::detach": "measure"}, 600, None),
        ({"aten::detach": "measure", "aten::stack": "measure"}, 200, None),
    ],
    ids=["both", "of two functions", "one unknown", "hardly sampled"],
)
def test_the_function_that_calls_the_ops_around_the_time_is_named(
    calls: dict[str, str], at_line: int, named: str | None
) -> None:
    found = judged(RULE, around(calls, at_line=at_line)).finding.location
    assert (None if found is None else found.function) == named


def sampled(
    at_line: int, *, loader: bool = False, gap: float = 90_000, text: str = "x = prepare(batch)"
) -> TraceBuilder:
    """Nine tenths of the step outside ops, and lines sampled in steps of their own, `at_line` ns of 1000 at one of them."""
    row = {
        "loader": loader,
        "file": "train.py",
        "line": 7,
        "function": "main",
        "begins": 3,
        "text": text,
    }
    other = row | {"line": 9, "loader": False, "text": "loss.backward()"}
    rows = [row | {"ns": at_line}, other | {"ns": 1000 - at_line}]
    part = {"processes": 1, "total_ns": 1000, "loader_ns": at_line if loader else 0, "rows": rows}
    builder = TraceBuilder(None, advisor={"lines": {"interval_ns": 2, "training": part}, "python_loop": QUIET})
    for number in range(3):
        builder.step(number, number * STEP, STEP).op("aten::linear", number * STEP + gap, STEP - gap)
    return builder


def test_a_sampled_line_that_must_hold_most_of_it_is_named() -> None:
    found = judged(RULE, sampled(900)).finding
    assert found.location is not None
    assert (found.location.file, found.location.line, found.location.function) == ("train.py", 7, "main")
    assert "Sampled, 90 % of the step is at train.py:7 in `main` (`x = prepare(batch)`)." in found.why
    assert "train.py:7" in found.fix[0].code


@pytest.mark.parametrize(
    ("text", "prepares"),
    [
        ("x = prepare(batch)", True),
        ("x = numpy.log(batch) + math.log(2)", True),
        ("catalog.find(batch)", True),
        ("logger.info('loss %s', loss)", False),
        ("json.dumps([one.tolist() for one in model.parameters()])", False),
        ("print(f'step {step}: {loss:.3f}')", False),
        ("writer.add_scalar('loss', loss, step)", False),
        ("file.write(text)", False),
        ("torch.save(model.state_dict(), path)", False),
        ("x = unsave(batch)", True),
    ],
)
def test_workers_are_offered_for_what_may_prepare_data_and_not_for_writing(text: str, prepares: bool) -> None:
    found = judged(RULE, sampled(900, text=text)).finding
    assert any("num_workers" in advice.code for advice in found.fix) is prepares


def test_a_sampled_line_that_saves_runs_no_op_and_holds_what_it_was_seen_for() -> None:
    found = judged(RULE, sampled(250, gap=40_000, text="torch.save(model.state_dict(), path)")).finding
    assert "Sampled, 25 % of the step is at train.py:7" in found.why
    assert "save(model, step)" in found.fix[0].code
    assert "async_save" in found.fix[1].code
    other = judged(RULE, sampled(150, gap=40_000, text="torch.save(model.state_dict(), path)")).finding
    assert "Sampled, 85 % of the step is at train.py:9" in other.why
    assert all("save" not in advice.code for advice in other.fix)


def with_state(*, detached: int = 6, then: str | None = None, stacks: bool = False, every: int = 1) -> TraceBuilder:
    """Steps of 100 ms on the CPU: six tensors receive a gradient; behind the update so many are detached, then 40 ms of silence.

    Args:
        detached: How many.
        then: An op that is called between the last of them and the silence.
        stacks: Whether frames of the collector hold all of it, and one of the program's the silence.
        every: In how many steps once.
    """
    # Every collection of garbage is recorded: silence is none.
    builder = TraceBuilder(None, advisor={"python_loop": QUIET, "gc_recorded": True})
    for number in range(6):
        at = number * STEP
        builder.step(number, at, STEP)
        gap = number % every == 0
        if gap:
            for index in range(detached):
                builder.op("aten::detach", at + 10 + index * 10, 5)
            if then is not None:
                builder.op(then, at + 200, 5)
        if stacks:
            builder.python("train.py(5): keep", at + 5, 39_990)
        begin = at + (40_000 if gap else 50)
        builder.op("aten::linear", begin, at + 91_000 - begin)
        for index in range(6):
            builder.op("torch::autograd::AccumulateGrad", at + 91_000 + index * 100, 90)
        builder.op("aten::mul_", at + 91_700, 8_200)
    if stacks:
        builder.python("traces/collect/trace_advisor_hook/entry.py(55): run", 0, 6 * STEP)
        builder.python("train.py(1): <module>", 1, 6 * STEP - 2)
    return builder


@pytest.mark.parametrize(
    ("how", "saves"),
    [
        ({}, True),
        ({"detached": 5}, False),
        # What is done with the tensors is no file.
        ({"then": "aten::copy_"}, False),
        ({"stacks": True}, True),
        ({"every": 3}, True),
    ],
)
def test_time_behind_the_state_of_a_model_is_offered_no_loader(how: dict[str, Any], saves: bool) -> None:
    found = judged(RULE, with_state(**how)).finding
    assert ("as `state_dict()` does for a checkpoint" in found.why) is saves
    assert ("save(model, step)" in found.fix[0].code) is saves
    assert any("DataLoader" in advice.code for advice in found.fix) is not saves
    assert any("No DataLoader was seen" in caveat for caveat in found.caveats) is not saves


@pytest.mark.parametrize(("every", "seldom"), [(1, False), (2, False), (3, True)])
def test_what_comes_every_few_steps_may_be_no_part_of_a_batch(every: int, seldom: bool) -> None:
    found = judged(RULE, with_state(detached=0, every=every)).finding
    assert any("what comes every few steps" in advice.code for advice in found.fix) is seldom
    assert any("DataLoader" in advice.code for advice in found.fix)


def test_the_frames_of_the_collector_hide_no_time_of_the_program() -> None:
    """A recording with stacks, as the finding advises it, said that no host code lies outside any op."""
    found = judged(RULE, with_state(detached=0, stacks=True))
    assert found.ratio == pytest.approx(0.4, abs=0.01)
    assert "in `keep` (train.py" in found.finding.why


def test_a_sampled_line_that_runs_ops_for_half_of_its_time_stays_where_it_is() -> None:
    """Of half of the step a line with 95 % of it: it calls the model, and cannot be moved out of the step."""
    found = judged(RULE, sampled(950, gap=50_000)).finding
    assert "Sampled, 95 % of the step is at train.py:7" in found.why
    assert not any("Move what" in advice.code for advice in found.fix)


@pytest.mark.parametrize(
    "builder",
    [
        # Of 90 % of the step a line with half of the samples holds 40 % at least: less than half of it.
        sampled(500),
        # Of 40 % of the step one with 55 % may hold nothing.
        sampled(550, gap=40_000),
        # The loader's time is none of this.
        sampled(900, loader=True),
    ],
    ids=["one of two", "may be elsewhere", "in the loader"],
)
def test_a_sampled_line_that_may_hold_little_of_it_is_not(builder: TraceBuilder) -> None:
    found = judged(RULE, builder).finding
    assert found.location is None
    assert "Sampled" not in found.why


@pytest.mark.parametrize(
    ("before", "after", "loader"),
    [
        ("aten::ones_like", "Optimizer.step#Adam.step", False),
        ("aten::mse_loss", "aten::ones_like", False),
        ("aten::sum", "AddmmBackward0", False),
        ("aten::ones_like", "aten::to", True),
        ("Optimizer.step#Adam.step", "aten::linear", True),
    ],
)
def test_a_loader_is_advised_only_where_data_may_be_prepared(before: str, after: str, *, loader: bool) -> None:
    """Training whose host is silent for 40 ms between two ops: from the loss to its update no program prepares a batch."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.launch(at, kernel_start=at + 5, kernel_dur=29_000, name="gemm", op="aten::linear", call_dur=20)
        for name, start in ((before, at + 29_900), (after, at + 70_000)):
            if name.startswith("Optimizer"):
                builder.optimizer(start, 90)
            else:
                builder.op(name, start, 90)
        builder.copy("HtoD", at + 70_091, 5, start=at + 70_097, dur=2, size=4 << 20, op=None, pinned=True)
        builder.launch(at + 70_100, kernel_start=at + 70_110, kernel_dur=29_800, name="gemm", op="aten::linear")
        builder.zero_grad(at + 99_950, 40)
    found = judged(RULE, builder).finding
    assert f"after `{before}` and before `{after}`" in found.why
    assert any("DataLoader" in fix.code for fix in found.fix) is loader
