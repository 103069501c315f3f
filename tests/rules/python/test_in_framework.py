"""PY001 where stacks were recorded of a loop that a framework runs: the program's own function only starts it."""

from __future__ import annotations

import pytest

from building.builders import TraceBuilder
from rules.python.python_overhead import RULE
from running.one_rule import judged

STEP = 100_000


def world(
    *,
    loop: str | None = "lightning.pytorch",
    own: bool = False,
    branched: bool = False,
    split: bool = False,
    updated: bool = True,
) -> TraceBuilder:
    """Six steps of 100 ms whose first 40 pass in a library's function, below a loop that updates as well.

    Args:
        loop: What runs it; None for the program itself.
        own: Whether a function of the program's is called there.
        branched: Whether the library's function calls another for half of it.
        split: Whether two functions of the library's share the time.
        updated: Whether an optimizer of torch's updates.
    """
    builder = TraceBuilder(None)
    builder.top["advisor"] = {"frameworks": {"imported": {}, "loop": [loop] if loop else [], "data": []}}
    builder.python("train.py(3): main", 0, 6 * STEP)
    builder.python("lightning/pytorch/loops/fit.py(10): advance", 1, 6 * STEP - 2)
    for number in range(6):
        at = number * STEP + 5
        builder.step(number, at, STEP - 10)
        for part in range(2 if split else 1):
            name = "gluonts/itertools.py(50): __iter__" if part == 0 else "gluonts/transform.py(5): apply"
            builder.python(name, at + part * 20_000, 19_900 if split else 39_900)
        if branched:
            builder.python("numpy/core/fromnumeric.py(3): clip", at + 5_000, 20_000)
        if own:
            builder.python("data.py(7): prepare", at + 1, 39_800)
        builder.op("aten::linear", at + 40_000, 30_000)
        if updated:
            builder.optimizer(at + 70_000, 29_000)
        builder.op("aten::add_", at + 70_010, 28_900)
    return builder


@pytest.mark.parametrize("branched", [False, True])
@pytest.mark.parametrize("updated", [False, True])
def test_the_function_below_which_the_time_branches_is_named(branched: bool, updated: bool) -> None:
    """GluonTS under Lightning was told to move `<module>` out of the step; so was fastai, whose optimizers are none of torch's."""
    found = judged(RULE, world(branched=branched, updated=updated)).finding
    assert "in `main` (train.py, from line 3), below `__iter__` (gluonts/itertools.py)" in found.why
    assert found.fix[0].code.startswith("See what `__iter__` (gluonts/itertools.py) is for")
    assert not any("Move the work of" in advice.code for advice in found.fix)


def test_where_no_one_function_holds_it_none_is_named() -> None:
    found = judged(RULE, world(split=True)).finding
    assert "below" not in found.why
    assert found.fix[0].code.startswith("See in Perfetto")


@pytest.mark.parametrize(("loop", "own", "moved"), [(None, False, "main"), ("lightning.pytorch", True, "prepare")])
def test_a_function_of_the_programs_that_does_the_work_is_moved(loop: str | None, own: bool, moved: str) -> None:
    found = judged(RULE, world(loop=loop, own=own)).finding
    assert "below" not in found.why
    assert any(advice.code.startswith(f"Move the work of `{moved}`") for advice in found.fix)


@pytest.mark.parametrize(("loop", "less"), [("fastai.learner", True), (None, False)])
def test_a_framework_is_not_told_to_prepare_its_own_work_in_a_loader(loop: str | None, less: bool) -> None:
    builder = world(loop=loop, split=True, updated=False)
    for number in range(6):
        builder.loader(number * STEP + 99_100, 500)
        builder.op("autograd::engine::evaluate_function: AddmmBackward0", number * STEP + 60_000, 9_000)
    codes = [advice.code for advice in judged(RULE, builder).finding.fix]
    assert any(code.startswith("More samples in each step") for code in codes) is less
    assert any("PreparedDataset" in code for code in codes) is not less
