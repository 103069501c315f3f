"""CP003: variables that slow a run down, each with what the trace shows of its cost."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.cpu.slow_environment import RULE
from rules.cpu.wrong_thread_count import RULE as THREADS
from running.one_rule import judged, run

STEP = 10_000
CACHING = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
BLOCKING = {"CUDA_LAUNCH_BLOCKING": "1"}


def world(
    *, variables: dict[str, str] | None = None, allocating: float = 2_000, blocking: bool = False, recorded: bool = True
) -> TraceBuilder:
    """Steps of 10 ms on a GPU, which allocate for 2 ms before their kernel; with `blocking` launches wait for it."""
    environment = CACHING if variables is None else variables
    builder = TraceBuilder(advisor={"environment": environment} if recorded else {})
    for number in range(6):
        at = number * STEP
        builder.step(number, at, STEP)
        if allocating:
            builder.op("aten::empty", at, allocating)
            builder.runtime("cudaMalloc", at, allocating)
        for index in range(4):
            start = at + 2_000 + index * 2_000
            builder.launch(start, kernel_start=start + 200, kernel_dur=1_500, call_dur=1_900 if blocking else 10)
    return builder


def on_cpu(
    *, variables: dict[str, str], threads: int = 1, cores: int = 4, lacked: float = 0.0, matrix: float = 1_500
) -> TraceBuilder:
    """Three steps of 10 ms, little of each matrix work; for `lacked` of them the thread had no core."""
    known: dict[str, Any] = {
        "usable_cores": cores, "threads": {"intra_op": threads}, "environment": variables, "core_wait_ratio": lacked,
    }  # fmt: skip
    builder = TraceBuilder(None, advisor=known)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, matrix)
        builder.op("aten::addmm", at, matrix)
        builder.op("aten::relu", at + matrix, 10_000 - matrix)
    return builder


def test_memory_that_is_not_cached_costs_the_time_in_the_allocator() -> None:
    found = judged(RULE, world())
    # Five steps after the first, 2 ms each, over six.
    assert found.ns_per_step == 1_666_667 or found.ns_per_step == 1_666_666
    assert found.finding.why.startswith("`PYTORCH_NO_CUDA_MEMORY_CACHING=1` is set: ")
    assert found.finding.fix[0].code == "unset PYTORCH_NO_CUDA_MEMORY_CACHING"
    assert found.confidence is Confidence.HIGH


@pytest.mark.parametrize(
    ("changed", "code"),
    [([], "OMP_NUM_THREADS=4 python"), (["OMP_NUM_THREADS"], '-os.environ["OMP_NUM_THREADS"] = "1"')],
)
def test_what_the_program_sets_itself_is_not_to_be_set_from_outside(changed: list[str], code: str) -> None:
    builder = on_cpu(variables={"OMP_NUM_THREADS": "1"})
    builder.top["advisor"]["environment_changed"] = changed
    (fix,) = judged(RULE, builder).finding.fix
    assert fix.code.startswith(code)


@pytest.mark.parametrize(("lacked", "state"), [(0.09, State.FIRED), (0.1, State.CANNOT_TELL)])
def test_more_threads_are_not_promised_cores_that_the_one_had_not(lacked: float, state: State) -> None:
    """Three quarters of the 15 % go at most: 11.3 %, of which 2 % have to be left."""
    result = run(RULE, on_cpu(variables={"OMP_NUM_THREADS": "1"}, lacked=lacked))
    assert result.state is state
    assert (state is State.FIRED) or "had no core for 10 % of the step" in result.reason


def test_a_variable_without_a_cost_in_the_trace_is_no_finding() -> None:
    result = run(RULE, world(allocating=0))
    assert result.state is State.CLEAR
    assert "PYTORCH_NO_CUDA_MEMORY_CACHING=1: the trace shows no cost" in result.reason


@pytest.mark.parametrize(("blocking", "state"), [(True, State.FIRED), (False, State.CLEAR)])
def test_launches_that_wait(blocking: bool, state: State) -> None:
    assert run(RULE, world(variables=BLOCKING, allocating=0, blocking=blocking)).state is state


@pytest.mark.parametrize("value", ["0", "false", "off"])
def test_a_variable_that_is_off_costs_nothing(value: str) -> None:
    found = run(RULE, world(variables={"CUDA_LAUNCH_BLOCKING": value}, allocating=0, blocking=True))
    assert found.state is State.CLEAR


def test_quiet_without_any_variable() -> None:
    assert run(RULE, world(variables={})).state is State.CLEAR


def test_cannot_tell_where_nobody_recorded_them() -> None:
    assert run(RULE, world(recorded=False)).state is State.CANNOT_TELL


@pytest.mark.parametrize(
    ("variables", "threads", "state"),
    [
        ({"OMP_NUM_THREADS": "1"}, 1, State.FIRED),
        ({"OMP_NUM_THREADS": "4"}, 4, State.CLEAR),
        # The program set another number itself: the variable has no effect.
        ({"OMP_NUM_THREADS": "1"}, 4, State.CLEAR),
        ({}, 1, State.CLEAR),
    ],
)
def test_threads_of_a_run_on_the_cpu(variables: dict[str, str], threads: int, state: State) -> None:
    assert run(RULE, on_cpu(variables=variables, threads=threads)).state is state


def test_threads_have_the_bound_of_perfect_scaling() -> None:
    found = judged(RULE, on_cpu(variables={"OMP_NUM_THREADS": "1"}))
    assert found.ns_per_step == 1_125_000
    assert found.finding.fix[0].code == "OMP_NUM_THREADS=4 python train.py"


def test_much_work_on_one_thread_is_told_once_with_the_variable_that_asks_for_it() -> None:
    world = on_cpu(variables={"OMP_NUM_THREADS": "1"}, matrix=5_000)
    alone = run(RULE, world)
    assert (alone.state, "CP001" in alone.reason) == (State.CLEAR, True)
    found = judged(THREADS, world)
    assert found.ns_per_step == 3_750_000
    assert "on one thread, as `OMP_NUM_THREADS=1` asks for;" in found.finding.why
    assert found.finding.fix[0].code == "OMP_NUM_THREADS=4 python train.py"


def test_what_else_is_set_is_told_beside_too_few_threads() -> None:
    variables = {"OMP_NUM_THREADS": "1", "PYTHONMALLOC": "debug"}
    found = judged(RULE, on_cpu(variables=variables, matrix=5_000))
    assert "PYTHONMALLOC" in found.finding.why
    assert "OMP_NUM_THREADS" not in found.finding.why + "".join(advice.code for advice in found.finding.fix)


def test_two_threads_on_four_cores_are_told_here_however_much_they_do() -> None:
    found = judged(RULE, on_cpu(variables={"OMP_NUM_THREADS": "2"}, threads=2, matrix=5_000))
    assert found.ns_per_step == 2_500_000


def test_what_slows_every_call_has_no_bound() -> None:
    found = judged(RULE, on_cpu(variables={"PYTHONMALLOC": "debug"}, threads=4))
    assert (found.ns_per_step, found.severity, found.confidence) == (0, Severity.INFO, Confidence.LOW)
    assert "every allocation of Python is checked" in found.finding.why


@pytest.mark.parametrize(
    ("name", "value", "label", "state"),
    [
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", "gloo:all_gather", State.FIRED),
        ("TORCH_DISTRIBUTED_DEBUG", "INFO", "gloo:all_gather", State.CLEAR),
        ("NCCL_DEBUG", "TRACE", "nccl:all_reduce", State.FIRED),
        ("NCCL_DEBUG", "WARN", "nccl:all_reduce", State.CLEAR),
        ("NCCL_DEBUG", "TRACE", "something else", State.CLEAR),
    ],
)
def test_checking_and_logging_of_collectives(name: str, value: str, label: str, state: State) -> None:
    builder = world(variables={name: value}, allocating=0)
    for number in range(6):
        builder.event(label, "user_annotation", number * STEP + 100, 1_500)
    assert run(RULE, builder).state is state


@pytest.mark.parametrize(("cost", "state"), [(150, State.CLEAR), (260, State.FIRED)])
def test_boundary(cost: float, state: State) -> None:
    assert run(RULE, world(allocating=cost)).state is state


@pytest.mark.parametrize(("ranks", "state"), [(4, State.CLEAR), (2, State.FIRED)])
def test_the_one_thread_that_torchrun_gives_each_rank_is_its_share(ranks: int, state: State) -> None:
    builder = on_cpu(variables={"OMP_NUM_THREADS": "1"})
    builder.top["advisor"]["local_ranks"] = ranks
    assert run(RULE, builder).state is state
