"""What texts call a step: a request, or the whole recording, where the trace holds no steps."""

from __future__ import annotations

import pytest

from analyzer.assemble.finding import finding_document
from analyzer.facts import Facts
from analyzer.verdict import judgement_of
from analyzer.views.timeline import DrawnStep
from building.builders import TraceBuilder
from rules.idle.launch_bound import RULE
from running.one_rule import judged


def dispatching(marks: str) -> TraceBuilder:
    """Three times 10 ms with 50 kernels that wait for their launches; marked as steps, as passes, as requests, or not."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000
        if marks == "step":
            builder.step(number, at, 10_000)
        if marks == "pass":
            builder.annotation(f"execute_context_{number}(64)_generation_0(0)", at, 10_000)
        if marks == "request":
            builder.annotation("request", at, 10_000)
        for start in range(at, at + 10_000, 200):
            builder.op("aten::relu", start, 199)
            builder.launch(start + 50, kernel_start=start + 58, kernel_dur=100, op=None, call_dur=5)
    return builder


UNITS = pytest.mark.parametrize(
    ("marks", "noun", "each", "rate"),
    [
        ("step", "step", "each 10 ms step", "a step"),
        ("pass", "step", "each 10 ms step", "a step"),
        ("request", "request", "each 10 ms request", "a request"),
        ("none", "recording", "the 30 ms recording", "in all"),
    ],
)


@UNITS
def test_a_finding_calls_it_what_it_is(marks: str, noun: str, each: str, rate: str) -> None:
    why = judged(RULE, dispatching(marks)).finding.why
    assert f"of {each} (" in why
    assert f"calls {rate}" in why
    assert ("step" in why) is (noun == "step")


@UNITS
def test_where_a_finding_lies_is_named_as_what_it_lies_in(marks: str, noun: str, each: str, rate: str) -> None:
    found = judged(RULE, dispatching(marks))
    (where,) = finding_document(
        Facts(dispatching(marks).trace()), found, DrawnStep(1, 10_000_000, 20_000_000), None
    ).evidence[-1:]
    assert where.title == ("where in the recording" if noun == "recording" else f"where in {noun} 1")


@UNITS
def test_a_verdict_calls_it_what_it_is(marks: str, noun: str, each: str, rate: str) -> None:
    facts = Facts(dispatching(marks).trace())
    totals = {"launch": 48, "compute": 52}
    assert f"of the {noun} " in judgement_of(facts, totals).verdict.text
    assert (facts.steps.each, facts.steps.a_unit) == (each, rate)
