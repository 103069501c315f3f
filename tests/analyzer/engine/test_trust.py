"""Can this trace be believed: from symptoms to a verdict and what it does to findings."""

from __future__ import annotations

import pytest

from analyzer.engine.trust import TrustGrade, grade
from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.finding import Severity
from building.builders import TraceBuilder


def symptom(gravity: Gravity, code: str | None = "PG004", ratio: float | None = None) -> Symptom:
    return Symptom(code, gravity, "message", "fix", 1, ratio)


def trust(*symptoms: Symptom, marked: bool = True, used_steps: int = 6) -> TrustGrade:
    return TrustGrade(symptoms, marked, used_steps)


@pytest.mark.parametrize(
    ("gravities", "verdict", "doubts"),
    [
        ([], "ok", 0),
        ([Gravity.NOTE], "ok", 0),
        ([Gravity.NOTE, Gravity.CAUTION], "caution", 1),
        ([Gravity.UNUSABLE, Gravity.NOTE], "unusable", 1),
    ],
)
def test_the_gravest_symptom_decides(gravities: list[Gravity], verdict: str, doubts: int) -> None:
    made = trust(*(symptom(gravity) for gravity in gravities))
    assert (made.verdict, made.doubts) == (verdict, doubts)


@pytest.mark.parametrize(
    ("marked", "used", "cap"),
    [(True, 6, Severity.HIGH), (True, 3, Severity.HIGH), (True, 2, Severity.MEDIUM), (False, 1, Severity.LOW)],
)
def test_severity_is_capped(marked: bool, used: int, cap: Severity) -> None:
    assert trust(marked=marked, used_steps=used).severity_cap is cap


def test_few_steps_and_a_doubtful_trace_are_two_doubts() -> None:
    assert trust(symptom(Gravity.CAUTION), used_steps=2).doubts == 2


def test_a_code_counts_once() -> None:
    made = trust(symptom(Gravity.NOTE, None), symptom(Gravity.CAUTION, "PG002", 0.3), symptom(Gravity.NOTE, "PG002"))
    assert made.codes == {"PG002"}


def test_grading_a_trace() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=50)
    made = grade(Facts(builder.trace()))
    assert (made.verdict, made.marked, made.used_steps, made.codes) == ("caution", False, 1, {"PG001"})
