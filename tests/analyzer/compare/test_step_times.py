"""How often the gate is right about step times with a known truth: the same script twice, and one that takes a tenth longer.

The generators have fixed seeds, so these are exact repetitions; the shapes are those of step_times.py.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from analyzer.compare.comparison import compare
from analyzer.compare.gate import apply_gate, parse_gate
from running.step_times import SHAPES, runs
from showing.snapshots import snapshot

REPEATS = 20
LIMIT = parse_gate("step_ns<=+3%")
# Whose fastest steps alone tell a tenth from noise in one run of 40 steps; the others may need several.
PLAIN = ("calm", "wavering", "stalls", "heavy_tail", "every_fourth", "busy_quarter")
SEVERAL = (*PLAIN, "waits", "two_modes")
# In five runs that differ by 2 %: all that do not differ by far more from one step to the next.
FIVE = tuple(name for name in SHAPES if name != "restless")


@cache
def answers(name: str, *, longer: float, steps: int, count: int, apart: float = 0.01) -> Counter[str]:
    """`failed` as often as the gate failed, else the answer of the comparison."""
    found: Counter[str] = Counter()
    for seed in range(REPEATS):
        random = np.random.default_rng([seed, steps, count])
        before = runs(SHAPES[name], random, steps=steps, count=count, apart=apart)
        after = runs(SHAPES[name], random, steps=steps, count=count, longer=longer, apart=apart)
        sides = ([snapshot(steps_ns=tuple(run)) for run in side] for side in (before, after))
        comparison = compare(*sides)
        assert comparison.change is not None
        found[comparison.change.kind if apply_gate(comparison, LIMIT).passed else "failed"] += 1
    return found


@pytest.mark.parametrize(("steps", "count"), [(20, 1), (40, 1), (20, 3)])
@pytest.mark.parametrize("name", SHAPES)
def test_the_same_script_keeps_the_gate_open(name: str, steps: int, count: int) -> None:
    found = answers(name, longer=1.0, steps=steps, count=count)
    # A clock that goes up in one run and down in the next is a change: only several runs tell it from one of the script.
    if name != "drifting" or count > 1:
        assert found["failed"] <= 1, found
    assert found["failed"] <= REPEATS // 4, found


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("steps", [20, 40])
def test_a_tenth_longer_is_caught_in_one_run(name: str, steps: int) -> None:
    assert answers(name, longer=1.1, steps=steps, count=1)["failed"] >= REPEATS - 1


@pytest.mark.parametrize("name", SEVERAL)
def test_a_tenth_longer_is_caught_in_three_runs(name: str) -> None:
    assert answers(name, longer=1.1, steps=40, count=3)["failed"] >= REPEATS - 1


@pytest.mark.parametrize("apart", [0.02, 0.04])
@pytest.mark.parametrize("name", SHAPES)
def test_the_same_script_keeps_the_gate_open_where_its_runs_differ(name: str, apart: float) -> None:
    assert answers(name, longer=1.0, steps=20, count=5, apart=apart)["failed"] <= (1 if apart < 0.04 else 2)


@pytest.mark.parametrize("name", FIVE)
def test_a_tenth_longer_is_caught_in_five_runs_that_differ(name: str) -> None:
    assert answers(name, longer=1.1, steps=20, count=5, apart=0.02)["failed"] >= REPEATS - 1


@pytest.mark.slow
def test_more_runs_tell_more() -> None:
    """What differs between runs hides less, the more of them there are."""
    caught = [answers("calm", longer=1.1, steps=20, count=count, apart=0.04)["failed"] for count in (3, 9, 15)]
    assert caught == sorted(caught)
    assert caught[-1] >= REPEATS - 1


@pytest.mark.parametrize("name", SHAPES)
def test_a_tenth_longer_is_never_called_faster(name: str) -> None:
    found = answers(name, longer=1.1, steps=20, count=1)
    assert found["faster"] == 0, found
