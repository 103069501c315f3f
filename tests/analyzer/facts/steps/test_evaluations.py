"""Steps of an evaluation beside training are left out, and what else has no backward pass is not."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.engine.trust import grade
from analyzer.facts import Facts
from programs.evaluating import turns


def left_out(kinds: str, **how: Any) -> list[int]:
    """Positions of the steps that are left out as an evaluation's."""
    reasons = Facts(turns(kinds, **how).trace()).steps.frame["reason"].astype("string").fillna("")
    return [place for place, reason in enumerate(reasons) if reason.startswith("of an evaluation")]


@pytest.mark.parametrize(
    ("kinds", "marks"),
    [("tttttteeeeeeeeeeee", True), ("tttttteeeeeeeeeeee", False), ("eeeeeeeeettt", True), ("ttteeeeeeettt", True)],
)
def test_an_evaluation_beside_training(kinds: str, marks: bool) -> None:
    assert left_out(kinds, marks=marks) == [place for place, kind in enumerate(kinds) if kind == "e"]


@pytest.mark.parametrize(
    ("kinds", "how"),
    [
        ("tttttt", {}),
        ("eeeeee", {}),
        ("teteteteteteteteet", {}),
        ("aaataaataaataaat", {}),
        ("ttteee", {"loader": False, "marks": True}),
        ("ttteeeeee", {"replayed": True, "marks": True}),
        ("tttttee", {"marks": True}),
    ],
    ids=["training", "an evaluation", "in turns", "accumulated", "rollouts", "replayed", "two batches"],
)
def test_what_is_no_evaluation_beside_training(kinds: str, how: dict[str, Any]) -> None:
    assert left_out(kinds, **how) == []


def test_it_is_said_and_the_rest_is_trusted() -> None:
    """No step of training is called a warm-up because most steps evaluate."""
    facts = Facts(turns("tttttteeeeeeeeeeeeeeeeee", marks=True).trace())
    said = [one.message for one in facts.health.symptoms]
    assert "18 steps are left out as of an evaluation: no backward pass, as 6 others have." in said
    assert not any("warm-up" in message for message in said)
    assert grade(facts).verdict == "ok"
    assert facts.steps.count == 6
