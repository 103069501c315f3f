"""Doubt where it matters: symptoms against the figures they touch, and severities that say why they were lowered."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest

from analyzer.analysis import Analysis, Location
from analyzer.engine import Judged, judge, run_rules
from analyzer.engine.trust import TrustGrade, grade, verdict_of
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.finding import Confidence, Finding, Severity
from analyzer.page.findings.card import card_of
from analyzer.report import github, html, markdown, sarif, text
from analyzer.report import json as json_report
from analyzer.spans.intervals import IntervalSet
from analyzer.tui.draw.brief import brief
from analyzer.tui.draw.finding import head, row
from analyzer.tui.look.glyphs import UNICODE
from analyzer.tui.outside.clipboard import finding_markdown
from building.builders import TraceBuilder
from running.made_rules import claim, finding, rule

STEP = 10_000


def loading(steps: int = 4, *, marked: bool = True, told: bool = True, wait: int = 4_000) -> TraceBuilder:
    """Steps of 10 ms that wait for the loader first and compute in what is left.

    Args:
        steps: How many.
        marked: Whether they are marked; else the optimizer tells them apart.
        told: Whether there is an optimizer at all.
        wait: Time in the loader, microseconds.
    """
    builder = TraceBuilder()
    for number in range(steps):
        at = number * STEP
        if marked:
            builder.step(number, at, STEP)
        if marked or told:
            builder.loader(at, wait)
        else:
            builder.annotation("fetch", at, wait)
        for index in range(10):
            begin, dur = at + wait + index * (STEP - wait - 100) / 10, (STEP - wait - 100) / 10
            builder.launch(begin, kernel_start=begin + 10, kernel_dur=dur - 10, name=f"kernel_{index}")
        if told:
            builder.optimizer(at + STEP - 50, 40)
    return builder


def explained(builder: TraceBuilder) -> Analysis:
    return explain_facts(Facts(builder.trace())).analysis


def severity_of(analysis: Analysis, code: str = "DL001") -> tuple[str, str | None, str | None]:
    (found,) = [one for one in analysis.findings if one.rule == code]
    return found.severity, found.lowered_from, found.lowered_because


# Whole traces


@pytest.mark.parametrize("steps", [3, 6, 10])
def test_an_ordinary_recording_is_ok_and_its_severity_follows_the_saving(steps: int) -> None:
    analysis = explained(loading(steps))
    assert analysis.trust.verdict == "ok"
    assert severity_of(analysis) == ("high", None, None)


def test_steps_that_the_program_itself_tells_apart_are_as_good_as_marked_ones() -> None:
    analysis = explained(loading(6, marked=False))
    assert (analysis.trust.verdict, analysis.trace.steps.used) == ("ok", 6)
    assert [(reason.code, reason.doubts) for reason in analysis.trust.reasons] == [("PG001", False)]
    assert severity_of(analysis) == ("high", None, None)
    # One doubt all the same.
    (found,) = [one for one in analysis.findings if one.rule == "DL001"]
    assert found.confidence == "medium"


def test_two_steps_are_a_reason_and_it_is_said() -> None:
    analysis = explained(loading(2))
    assert analysis.trust.verdict == "caution"
    assert severity_of(analysis) == ("medium", "high", "trust is caution, as only 2 steps are used (PG003)")


def test_what_nothing_tells_apart_is_a_reason_and_it_is_said() -> None:
    analysis = explained(loading(1, marked=False))
    assert analysis.trust.verdict == "caution"
    assert severity_of(analysis) == ("low", "high", "trust is caution, as nothing sure tells steps apart (PG001)")


def _placed(analysis: Analysis) -> Analysis:
    """SARIF lists what has a line."""
    place = Location(file="train.py", line=3, function="step")
    placed = tuple(msgspec.structs.replace(one, location=place) for one in analysis.findings)
    return msgspec.structs.replace(analysis, findings=placed)


SHOWN: dict[str, Callable[[Analysis], str]] = {
    "text": text.render,
    "markdown": markdown.render,
    "html": html.render,
    "json": json_report.render,
    "sarif": lambda analysis: sarif.render(_placed(analysis)),
    "github": github.render,
    "detail": lambda analysis: str(head(card_of(analysis.cards[0], analysis), UNICODE)),
    "brief": lambda analysis: str(brief(card_of(analysis.cards[0], analysis), 200, 8, UNICODE)),
    "list": lambda analysis: str(
        row(card_of(analysis.cards[0], analysis), 80, 2, UNICODE, of_cards=True, largest_ns=10_000_000)
    ),
    "copy": lambda analysis: finding_markdown(card_of(analysis.cards[0], analysis)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_every_view_says_that_a_severity_was_lowered(name: str) -> None:
    assert "lowered" in SHOWN[name](explained(loading(2)))
    plain = SHOWN[name](explained(loading(3)))
    assert "lowered" not in plain.replace('"lowered_from":', "").replace('"lowered_because":', "")


def test_lists_say_why_beside_the_share() -> None:
    analysis = explained(loading(2))
    shown = text.render(analysis)
    assert "DL002 [medium]" in shown
    assert "40 %, lowered: trust is caution)" in " ".join(shown.split())
    assert "medium severity, lowered from high: trust is caution, as only 2 steps are used (PG003)" in " ".join(
        shown.split()
    )
    assert "(lowered: trust is caution)" in markdown.render(analysis)
    assert "40 %, lowered: trust is caution" in html.render(analysis)
    assert "40 %, lowered: trust is caution" in SHOWN["list"](analysis)
    narrow = str(row(card_of(analysis.cards[0], analysis), 46, 2, UNICODE, of_cards=True, largest_ns=10_000_000))
    assert narrow.endswith("40 %, lowered")
    assert json.loads(json_report.render(analysis))["findings"][0]["lowered_from"] == "high"


def test_a_rule_says_itself_why_it_lowers() -> None:
    facts = Facts(loading(4).trace())
    saving = claim((0, 4_000), (10_000, 14_000), (20_000, 24_000), (30_000, 34_000))
    capped = finding(saving, severity_cap=Severity.LOW, capped_because="nobody saw it")
    assert _judged(facts, capped, grade(facts)).lowered_because == "nobody saw it"
    unlowered = _judged(facts, finding(claim((0, 1)), severity_cap=Severity.LOW), grade(facts))
    assert (unlowered.lowered_from, unlowered.lowered_because) == (None, "")


# One symptom against one finding


def _judged(facts: Facts, given: Finding, trust: TrustGrade) -> Judged:
    (result,) = judge(facts, run_rules(facts, (rule("SY001", given),), trust), trust)
    return result


def _doubting(**concerns: object) -> TrustGrade:
    return TrustGrade((Symptom("PG007", Gravity.CAUTION, "m", "f", 1, **concerns),), True, 4)  # type: ignore[arg-type]


IN_LOADER = claim((0, 4_000), (10_000, 14_000))
OF_KERNELS = claim(kernel_us=8_000)


@pytest.mark.parametrize(
    ("touches", "loader", "kernels"),
    [
        (None, Confidence.MEDIUM, Confidence.MEDIUM),
        (("input",), Confidence.MEDIUM, Confidence.HIGH),
        (("python",), Confidence.HIGH, Confidence.HIGH),
    ],
)
def test_a_symptom_doubts_the_findings_that_rest_on_what_it_touches(
    touches: tuple[str, ...] | None, loader: Confidence, kernels: Confidence
) -> None:
    facts, trust = Facts(loading(4).trace()), _doubting(touches=touches)
    assert _judged(facts, finding(IN_LOADER), trust).confidence is loader
    assert _judged(facts, finding(OF_KERNELS), trust).confidence is kernels


@pytest.mark.parametrize(
    ("saving", "doubted"),
    [
        # 40 of 40 ms wait in the loader for 4 ms each; 6 ms of warm-up leave the severity what it is,
        (claim((0, 4_000), (10_000, 14_000), (20_000, 24_000)), False),
        # or are what makes it, or hide a higher one.
        (claim((34_500, 40_000)), True),
        (claim((0, 3_500)), True),
    ],
    ids=["same", "made by it", "hidden by it"],
)
def test_warm_up_doubts_what_would_be_graver_or_lighter_without_it(saving: object, doubted: bool) -> None:
    facts = Facts(loading(4).trace())
    trust = _doubting(time=IntervalSet.of([(34_000_000, 40_000_000)]))
    confidence = _judged(facts, finding(saving), trust).confidence  # type: ignore[arg-type]
    assert (confidence is not Confidence.HIGH) is doubted


@pytest.mark.parametrize(
    ("touches", "verdict"),
    [(None, "caution"), (("input",), "caution"), (("python", "sync"), "ok"), (("launch", "framework"), "ok")],
)
def test_the_verdict_is_of_what_binds_and_of_the_cards(touches: tuple[str, ...] | None, verdict: str) -> None:
    facts = Facts(loading(4).trace())
    assert verdict_of(_doubting(touches=touches).at_hand(facts, [IN_LOADER])) == verdict


def test_a_finding_on_what_is_doubtful_makes_the_verdict_however_little_binds() -> None:
    facts = Facts(loading(4, wait=1_000).trace())
    trust = _doubting(touches=("input",))
    assert verdict_of(trust.at_hand(facts, [])) == "ok"
    assert verdict_of(trust.at_hand(facts, [claim((0, 1_000))])) == "caution"
    assert verdict_of(trust.at_hand(facts, [OF_KERNELS])) == "ok"


def test_an_unusable_trace_stays_so_whatever_is_at_hand() -> None:
    facts = Facts(loading(4).trace())
    trust = TrustGrade((Symptom("PG005", Gravity.UNUSABLE, "m", "f", 1, touches=("python",)),), True, 4)
    assert verdict_of(trust.at_hand(facts, [])) == "unusable"


@pytest.mark.parametrize(("gravity", "codes"), [(Gravity.NOTE, set()), (Gravity.CAUTION, {"PG002"})])
def test_a_note_suppresses_no_rule(gravity: Gravity, codes: set[str]) -> None:
    assert TrustGrade((Symptom("PG002", gravity, "m", "f", 1),), True, 4).doubted == codes
