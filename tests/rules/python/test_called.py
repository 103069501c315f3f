"""PY001 with stacks: behind the user's line the call in which the time is spent, and what is known of it."""

from __future__ import annotations

import pytest

from building.builders import TraceBuilder
from rules.python.python_overhead import RULE
from running.one_rule import judged

STEP = 100_000
TENSOR = "<built-in method as_tensor of type object at 0x7f2b3c1d2ac0>"


def world(
    called: str, dur: float, *, between: str | None = "somelib/buffer.py(158): batch_experiences"
) -> TraceBuilder:
    """Steps of 100 ms that begin with 40 ms of the user's `update`, so many us of them in a call below a library's function."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.python("train.py(10): update", at, 99_000)
        if between is not None:
            builder.python(between, at + 1_000, 38_500)
        builder.python(called, at + 1_500, dur)
        builder.launch(at + 40_000, kernel_start=at + 40_005, kernel_dur=59_990)
    return builder


@pytest.mark.parametrize(
    ("called", "dur", "between", "words"),
    [
        (
            TENSOR,
            30_000,
            "somelib/buffer.py(158): batch_experiences",
            "; 75 % of it inside `as_tensor`, called by `batch_experiences`.",
        ),
        (TENSOR, 30_000, None, "; 75 % of it inside `as_tensor`."),
        ("transformers/tokenization.py(5): encode", 30_000, None, "; 75 % of it inside `encode`."),
        ("somelib/buffer.py(9): <listcomp>", 30_000, None, "(train.py, from line 10)."),
        (TENSOR, 15_000, None, "(train.py, from line 10)."),
    ],
    ids=["below a library", "from the line itself", "a library's own", "no name", "less than half"],
)
def test_the_call_in_which_most_of_the_time_is_spent_is_named(
    called: str, dur: float, between: str | None, words: str
) -> None:
    found = judged(RULE, world(called, dur, between=between)).finding
    assert found.why.endswith(words)
    assert found.location is not None
    assert found.location.file == "train.py"


@pytest.mark.parametrize(
    ("called", "told"),
    [
        (TENSOR, True),
        ("<built-in method tensor of type object at 0x7f2b3c1d2ac0>", True),
        ("<built-in method linear_sum_assignment of module object at 0x7f2b>", False),
        ("somelib/buffer.py(9): as_tensor", False),
    ],
)
def test_lists_are_made_one_array_before_they_become_a_tensor(called: str, *, told: bool) -> None:
    fix = judged(RULE, world(called, 30_000)).finding.fix
    assert ("numpy.array(rows)" in fix[0].code) is told


def test_calls_that_follow_each_other_within_a_nanosecond_are_not_inside_one_another() -> None:
    builder = world(TENSOR, 15_000.001)
    for number in range(3):
        builder.python(TENSOR, number * STEP + 16_500, 15_000)
    assert "; 75 % of it inside `as_tensor`, called by `batch_experiences`." in judged(RULE, builder).finding.why


def test_frames_that_cross_are_no_more_than_the_time_they_are_in() -> None:
    """A recorder that rounds writes calls of one thread that begin before all of the one ahead have ended."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for turn in range(130):
            for depth in range(60):
                begin = at + turn * 295 + depth * 2
                builder.python(f"somelib/module.py({depth}): forward", begin, 300 - 4 * depth)
        builder.launch(at + 40_000, kernel_start=at + 40_005, kernel_dur=59_990)
    assert ", 100 % of it inside `forward`" in judged(RULE, builder).finding.why
