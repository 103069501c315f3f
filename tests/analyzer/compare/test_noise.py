"""Two sides of step times: noise stays quiet, a planted slowdown is caught, too few steps are said to be too few.

Steps are drawn with neighbours alike (autocorrelation 0.5), 3 % spread and an occasional step of 1.8 times the length, as
measured steps of small training loops look.
"""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.compare.noise import ENOUGH_RUNS, ENOUGH_STEPS, judge_change

REPEATS = 20


def steps(random: np.random.Generator, count: int, base_ns: float = 10e6, spread: float = 0.03) -> list[int]:
    level, values = 0.0, []
    for _ in range(count):
        level = 0.5 * level + random.normal(0, spread * np.sqrt(1 - 0.25))
        values.append(base_ns * (1 + level) * (1.8 if random.random() < 0.03 else 1))
    return [int(value) for value in values]


def interrupted(random: np.random.Generator, step: int) -> int:
    """The step as long as it takes where another program has the processor now and then."""
    return step + int(max(random.exponential(12e6) - 4e6, 0))


@pytest.mark.parametrize("count", [20, 40, 100])
def test_two_runs_of_one_script_are_not_called_slower(count: int) -> None:
    random = np.random.default_rng(7)
    kinds = [judge_change([steps(random, count)], [steps(random, count)]).kind for _ in range(REPEATS)]
    assert kinds.count("slower") <= 1


def test_two_halves_of_one_run_are_not_called_slower() -> None:
    random = np.random.default_rng(8)
    kinds = []
    for _ in range(REPEATS):
        run = steps(random, 60)
        kinds.append(judge_change([run[:30]], [run[30:]]).kind)
    assert kinds.count("slower") <= 1


@pytest.mark.parametrize("count", [20, 40, 100])
def test_a_planted_slowdown_of_a_tenth_is_caught(count: int) -> None:
    random = np.random.default_rng(9)
    kinds = [judge_change([steps(random, count)], [steps(random, count, 11e6)]).kind for _ in range(REPEATS)]
    assert kinds.count("slower") >= REPEATS - 1


def test_a_step_many_times_as_long_is_told_in_times() -> None:
    random = np.random.default_rng(9)
    text = judge_change([steps(random, 40)], [steps(random, 40, 500e6)]).text
    assert text.startswith("51 times as long: 95 % interval a factor of 50 to 52;")
    text = judge_change([steps(random, 40)], [steps(random, 40, 12e6)]).text
    assert " % slower: 95 % interval +" in text


def test_with_few_steps_a_twentieth_is_inconclusive_and_the_steps_needed_are_named() -> None:
    random = np.random.default_rng(10)
    change = judge_change([steps(random, 6)], [steps(random, 6, 10.5e6)])
    assert change.kind == "inconclusive"
    assert change.needed_steps is not None
    assert change.needed_steps >= ENOUGH_STEPS
    assert f"at least {change.needed_steps} steps" in change.text
    assert f"`advisor collect --active {change.needed_steps}`" in change.text


def test_with_few_steps_a_large_change_without_overlap_is_believed() -> None:
    random = np.random.default_rng(11)
    assert judge_change([steps(random, 6)], [steps(random, 6, 5e6)]).kind == "faster"


@pytest.mark.parametrize(
    ("count", "factor", "kind"),
    [
        (5, 0.85, "faster"),
        (8, 1.15, "slower"),
        # So few may part by chance; so little may equal runs differ by.
        (4, 0.85, "inconclusive"),
        (8, 0.97, "inconclusive"),
    ],
)
def test_steps_that_do_not_overlap_are_a_change_beyond_what_equal_runs_differ_by(
    count: int, factor: float, kind: str
) -> None:
    before = [100_000_000 + index * 100_000 for index in range(count)]
    assert judge_change([before], [[int(step * factor) for step in before]]).kind == kind


def test_few_steps_that_overlap_stay_inconclusive() -> None:
    before = [100_000_000 + index * 3_000_000 for index in range(8)]
    assert judge_change([before], [[int(step * 0.85) for step in before]]).kind == "inconclusive"


def test_the_same_steps_are_unchanged() -> None:
    run = steps(np.random.default_rng(12), 40)
    change = judge_change([run], [run])
    assert (change.kind, change.ratio, change.slower_probability) == ("unchanged", 0.0, 0.5)


def test_runs_that_differ_from_each_other_raise_the_floor() -> None:
    random = np.random.default_rng(13)
    unrest = [steps(random, 30, base) for base in (8e6, 10e6, 12e6)]
    calm = [steps(random, 30, 10e6) for _ in range(3)]
    assert judge_change(unrest, calm).floor_ratio > 2 * judge_change(calm, calm).floor_ratio


def test_runs_that_rank_one_after_another_are_a_change_however_far_they_lie_apart() -> None:
    random = np.random.default_rng(19)
    before = [steps(random, 30, base) for base in (9.0e6, 9.3e6, 9.6e6, 9.9e6, 10.0e6)]
    after = [steps(random, 30, base) for base in (10.3e6, 10.6e6, 10.9e6, 11.2e6, 11.4e6)]
    change = judge_change(before, after)
    assert change.kind == "slower"
    assert "do not mix" in change.text
    mixed = judge_change([*before[:3], *after[:2]], [*before[3:], *after[2:]])
    assert "do not mix" not in mixed.text


def test_restless_steps_of_one_run_are_inconclusive_and_more_runs_are_asked_for() -> None:
    """Other programs had the processor in one run and not in the other: no count of steps can tell that from a change."""
    random = np.random.default_rng(15)
    calm, busy = steps(random, 40), [interrupted(random, step) for step in steps(random, 40)]
    change = judge_change([calm], [busy])
    assert (change.kind, change.needed_steps) == ("inconclusive", None)
    assert change.needed_runs is not None
    assert change.needed_runs >= ENOUGH_RUNS
    assert f"record at least {change.needed_runs} runs a side" in change.text
    several = [[interrupted(random, step) for step in steps(random, 40)] for _ in range(4)]
    assert judge_change([steps(random, 40) for _ in range(4)], several).kind == "slower"


def test_a_change_that_leaves_the_fastest_steps_alone_is_inconclusive_with_one_run_a_side() -> None:
    """Something took an eighth in most steps, and in some nothing: the script, or who else used the machine."""
    random = np.random.default_rng(18)
    before, after = ([[*steps(random, 60, 10e6), *steps(random, 20, 9.5e6)] for _ in range(3)] for _ in range(2))
    slowed = [[int(step * (1.12 if place < 60 else 1)) for place, step in enumerate(run)] for run in after]
    change = judge_change(before[:1], slowed[:1])
    assert (change.kind, change.needed_steps) == ("inconclusive", None)
    assert "but the fastest steps by" in change.text
    assert judge_change(before, slowed).kind == "slower"


def test_a_change_without_any_overlap_is_believed_of_restless_steps_too() -> None:
    random = np.random.default_rng(16)
    busy = [interrupted(random, step) * 3 for step in steps(random, 40)]
    assert judge_change([steps(random, 40)], [busy]).kind == "slower"


def test_what_differs_greatly_from_itself_is_not_called_unchanged() -> None:
    random = np.random.default_rng(17)
    unrest = [steps(random, 30, base) for base in (7e6, 10e6, 13e6)]
    assert judge_change(unrest, unrest).kind == "inconclusive"


def test_one_input_has_one_answer() -> None:
    random = np.random.default_rng(14)
    before, after = [steps(random, 25)], [steps(random, 25, 10.3e6)]
    assert judge_change(before, after) == judge_change(before, after)
