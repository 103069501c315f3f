"""What a framework's loop was seen doing in usual steps: by kind, whatever function it was seen in."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts.recording.usual_work import UsualWork, usual_work


def look(name: str, samples: int, file: str = "lightning/pytorch/trainer.py") -> dict[str, Any]:
    return {"functions": [["Trainer._run", file], [name, file]], "samples": samples, "own": False}


def between(*places: Any, samples: int = 20) -> dict[str, Any]:
    return {"usual": {"samples": samples, "places": list(places)}}


def test_looks_of_one_kind_count_together_and_the_commonest_function_is_named() -> None:
    found = usual_work(between(look("save_last", 4), look("save_best", 8), look("log_metrics", 6), look("step", 2)))
    assert found == UsualWork("saving", "save_best", "lightning/pytorch/trainer.py", 0.6)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"usual": 3},
        between(),
        between(look("save_best", 14), samples=14),
        between(look("advance", 20)),
        between(3, {"functions": 3, "samples": 20}),
    ],
)
def test_too_few_looks_names_that_tell_nothing_and_odd_shapes_are_nothing(told: dict[str, Any]) -> None:
    assert usual_work(told) is None
