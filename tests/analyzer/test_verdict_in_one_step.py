"""A loss that lies in one step of several: the verdict names the step, and what the others do."""

from __future__ import annotations

import pytest

from analyzer.analysis import Verdict
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from building.clocked import Clocked
from rules import RULES
from stories.models import layers, layers_back


def verdict(slow: tuple[int, ...], *, count: int, kind: str) -> Verdict:
    """Of training whose slow steps, by position, send a gigabyte, or wait for a batch, before they compute."""
    world = Clocked()
    for number in world.steps(count):
        world.load(100_000 if kind == "input" and number in slow else 100, workers=4)
        if kind == "copy":
            world.copied("HtoD", (1_200 if number in slow else 1) << 20, pinned=True)
        layers(world, 8)
        layers_back(world, 8)
    return explain_facts(Facts(world.trace()), rules=RULES).analysis.summary.verdict


@pytest.mark.parametrize("kind", ["copy", "input"])
def test_a_loss_of_the_first_of_three_steps_is_said_to_be_its_alone(kind: str) -> None:
    found = verdict((0,), count=3, kind=kind)
    assert found.bound_by == kind
    assert "Nearly all of this loss is in step 5, one of 3; the others compute for" in found.text


@pytest.mark.parametrize("kind", ["copy", "input"])
@pytest.mark.parametrize(("slow", "count"), [((0, 1, 2), 3), ((1, 3), 5)])
def test_a_loss_of_several_steps_is_not(kind: str, slow: tuple[int, ...], count: int) -> None:
    assert "this loss is in" not in verdict(slow, count=count, kind=kind).text


def test_of_two_steps_nobody_knows_which_is_usual() -> None:
    assert "this loss is in" not in verdict((0,), count=2, kind="copy").text


@pytest.mark.parametrize("count", [1, 2])
def test_one_wait_for_a_batch_is_said_to_be_one(count: int) -> None:
    asked_once = "One batch was asked for in all that was recorded"
    assert (asked_once in verdict((0, 1), count=count, kind="input").text) is (count == 1)
