"""A model that is run over a data set answers no requests: nothing waits for any, and its batches are none."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts import Facts
from analyzer.report.style import Style
from analyzer.report.text import modules
from known.sayings import explained
from programs.evaluating import passes

EVALUATIONS: dict[str, dict[str, Any]] = {
    "a loader": {"loader": True},
    "a loader, in a function": {"loader": True, "function": "validate_epoch"},
    "a function": {"function": "evaluate", "name": "batch"},
    "a method": {"function": "Runner.evaluate_model", "name": "batch"},
    "a range around all": {"around": "validate", "name": "batch"},
    "a range around each": {"name": "validation_step"},
}
SERVERS: dict[str, dict[str, Any]] = {
    "no name": {"name": "batch"},
    "a function that checks what comes": {"checks": "validate", "name": "batch"},
    "requests, prepared by a loader": {"loader": True, "name": "request"},
    "requests, in a function": {"function": "evaluate", "name": "request"},
    "a function of another name": {"function": "evaluate_guards", "name": "batch"},
}


@pytest.mark.parametrize("what", EVALUATIONS)
def test_an_evaluation_has_steps(what: str) -> None:
    facts = Facts(passes(**EVALUATIONS[what]).trace())
    assert facts.recording.evaluates
    assert facts.steps.noun == "step"
    assert facts.model.infers


@pytest.mark.parametrize("what", SERVERS)
def test_what_answers_has_requests(what: str) -> None:
    facts = Facts(passes(**SERVERS[what]).trace())
    assert not facts.recording.evaluates
    assert facts.steps.noun == "request"


def said(**what: Any) -> str:
    """All that is told: verdict, titles, sentences, caveats and notes beside fixes."""
    analysis = explained(passes(**what))
    texts = [analysis.summary.verdict.text]
    for one in analysis.findings:
        texts += [
            one.title,
            one.why,
            one.verify,
            *one.caveats,
            *(fix.note for fix in one.fix if "it trains" not in fix.note),
        ]
    return "\n".join(texts)


def test_an_evaluation_waits_for_no_request() -> None:
    assert "requests" not in said(**EVALUATIONS["a function"])
    assert "Or it waits for requests" in said(**SERVERS["no name"])


@pytest.mark.parametrize("what", ["a loader", "a loader, in a function"])
def test_an_evaluation_is_not_called_training(what: str) -> None:
    text = said(**EVALUATIONS[what])
    assert "keeps the program waiting" in text
    assert "training" not in text.lower()


def test_what_trains_waits_in_training() -> None:
    world = passes(loader=True)
    world.zero_grad(world.now, 5)
    assert any(one.title == "Data loader keeps training waiting" for one in explained(world).findings)


def test_checks_and_tables_speak_of_requests() -> None:
    """Not of steps, nor of training, where a program answers requests."""
    analysis = explained(passes(name="request"))
    said = {check.rule: check for check in analysis.checks}
    assert said["PG006"].reason.startswith("8 requests found")
    assert said["PY004"].title == "Garbage collector pauses the program"
    text = "\n".join(modules.lines(analysis, Style()))
    assert "time a request" in text
    assert "time a step" not in text
