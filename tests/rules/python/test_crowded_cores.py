"""What the training thread lost to other programs is not blamed on Python, on its garbage collector, or on the steps."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from analyzer.rule import Rule
from building.builders import TraceBuilder
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
