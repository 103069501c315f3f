"""What the training thread lost to other programs is not blamed on Python, on its garbage collector, or on the steps."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from analyzer.rule import Rule
from building.builders import TraceBuilder
from programs.crowded import stopping
from rules.idle.isolated_gaps import RULE as GAPS
from rules.python.gc_pauses import RULE as PAUSES
from rules.python.python_overhead import RULE as PYTHON
from rules.python.unsteady_steps import RULE as UNSTEADY
from running.one_rule import run

STEP = 80_000


def world(without_core: float | None, *, recorded: bool = False) -> TraceBuilder:
    """Seven steps of 80 ms on the CPU; the fifth stops for 45 ms in between: 7.4 % of the steps."""
    builder = TraceBuilder(None, advisor={"core_wait_ratio": without_core})
    at = 0
    for number in range(7):
        pause = 45_000 if number == 4 else 0
        builder.step(number, at, STEP + pause)
        builder.op("aten::linear", at, 40_000)
        if pause and recorded:
            builder.python("Python GC", at + 40_000, pause)
        builder.op("aten::linear", at + 40_000 + pause, 40_000)
        at += STEP + pause
    return builder


@pytest.mark.parametrize("rule", [PAUSES, UNSTEADY], ids=["pauses", "unsteady"])
@pytest.mark.parametrize(
    ("without_core", "state"), [(None, State.FIRED), (0.07, State.FIRED), (0.09, State.CANNOT_TELL)]
)
def test_as_much_time_without_a_core_explains_it(rule: Rule, without_core: float | None, state: State) -> None:
    result = run(rule, world(without_core))
    assert result.state is state
    assert (state is State.FIRED) or "no core for 9.0 % of the steps" in result.reason


def test_a_recorded_collection_is_one_whatever_else_runs() -> None:
    assert run(PAUSES, world(0.5, recorded=True)).state is State.FIRED


@pytest.mark.parametrize(("without_core", "state"), [(0.14, State.FIRED), (0.16, State.CANNOT_TELL)])
def test_host_code_that_other_programs_may_have_been(without_core: float, state: State) -> None:
    builder = TraceBuilder(None, advisor={"core_wait_ratio": without_core})
    for number in range(3):
        builder.step(number, number * STEP, STEP)
        builder.op("aten::linear", number * STEP + 16_000, 64_000)
    # 20 % of each step, less what the thread had no core for: on either side of the 5 % from which the rule fires.
    assert run(PYTHON, builder).state is state


@pytest.mark.parametrize(
    ("gaps", "rule", "stalls", "by"),
    [((9_500,) * 3, PYTHON, 3, 6_000), ((70_000,), UNSTEADY, 1, 6_000), ((70_000,), GAPS, 1, 12_000)],
    ids=["python", "unsteady", "gaps"],
)
def test_stops_where_ops_stop_as_often_may_be_another_programs(
    gaps: tuple[float, ...], rule: Rule, stalls: int, by: float
) -> None:
    assert run(rule, stopping(gaps=gaps, stalls=0)).state is State.FIRED
    result = run(rule, stopping(gaps=gaps, stalls=stalls, by=by))
    assert result.state is State.CANNOT_TELL
    assert "the thread may have had no core" in result.reason
    assert run(rule, stopping(gaps=gaps, stalls=stalls, by=1_000)).state is State.FIRED


@pytest.mark.parametrize(("usual", "state"), [(30_000, State.CANNOT_TELL), (500, State.FIRED)])
def test_two_stops_beside_one_of_an_op_say_nothing_where_much_time_lies_outside_ops(usual: float, state: State) -> None:
    """Of three stops two fall outside ops once in three times where 38 % of the time is there, and never where 1 % is."""
    world = stopping(gaps=(70_000, 70_000), stalls=1, by=6_000, usual=usual)
    assert run(UNSTEADY, world).state is state
    assert run(UNSTEADY, stopping(gaps=(70_000, 70_000), stalls=0, usual=usual)).state is State.FIRED


@pytest.mark.parametrize(("more", "state"), [(300, State.CANNOT_TELL), (40_000, State.FIRED)])
def test_steps_are_unsteady_by_what_the_stops_leave_of_the_difference(more: float, state: State) -> None:
    """The longest step stops for 70 ms, as an op does, and loses some more at another place: 0.3 ms make no step slow."""
    world = stopping(gaps=(70_000,), stalls=1, by=6_000)
    at = [event for event in world.events if event["name"] == "aten::relu"][4]["ts"] + 1_000
    for event in world.events:
        event["ts"] += more if event["ts"] >= at else 0
        event["dur"] += more if event["ts"] < at < event["ts"] + event["dur"] else 0
    found = run(UNSTEADY, world)
    assert found.state is state


def test_what_each_step_does_is_the_programs_whatever_else_runs() -> None:
    result = run(PYTHON, stopping(gaps=(9_000, 9_000, 9_000), stalls=3, usual=10_000))
    assert result.state is State.FIRED
    (finding,) = result.findings
    assert "3 stretches longer than at their place in other steps, as 3 ops are" in finding.caveats[-1]
    (quiet,) = run(PYTHON, stopping(gaps=(9_000, 9_000, 9_000), stalls=0, usual=10_000)).findings
    assert not any("no core" in caveat for caveat in quiet.caveats)


def unmarked(*, gaps: int, stalls: int, usual: float = 30) -> TraceBuilder:
    """Sixty turns of two ops that no step marks; before some 6 ms pass, some ops take 6 ms more."""
    builder, at = (
        TraceBuilder(None, advisor={"python_loop": {"turns": 10_000, "mean_ns": 175_000}, "gc_recorded": True}),
        0.0,
    )
    for turn in range(60):
        for name in ("aten::layer_norm", "aten::gelu"):
            first = name == "aten::layer_norm"
            at += (usual if first else 30) + (6_000 if first and turn % 60 in range(1, 2 * gaps, 2) else 0)
            dur = 200 + (6_000 if not first and turn % 60 in range(0, 2 * stalls, 2) else 0)
            builder.op(name, at, dur)
            at += dur
    return builder


@pytest.mark.parametrize(
    ("world", "state"),
    [
        (unmarked(gaps=8, stalls=0), State.FIRED),
        (unmarked(gaps=8, stalls=8), State.CANNOT_TELL),
        (unmarked(gaps=0, stalls=8, usual=3_000), State.FIRED),
        (unmarked(gaps=8, stalls=8, usual=3_000), State.FIRED),
    ],
    ids=["ops as ever", "ops as often", "in each turn", "in each turn, and ops as often"],
)
def test_without_steps_ops_are_compared_with_those_behind_the_same_one(world: TraceBuilder, state: State) -> None:
    result = run(PYTHON, world)
    assert result.state is state
    assert state is State.FIRED or "longer than usual behind the same op" in result.reason
