"""A comparison of a program that answers requests speaks of them; of recordings taken as one, of those."""

from __future__ import annotations

import re

import msgspec
import pytest

from analyzer.compare.comparison import Comparison, compare
from analyzer.compare.gate import apply_gate, parse_gate
from analyzer.compare.runs import since
from analyzer.compare.snapshot import Snapshot
from analyzer.page import changes
from analyzer.page.words.of_steps import Noun
from analyzer.report.comparison import github, html, markdown, text
from showing.snapshots import CONDITIONS, finding, snapshot

FORMATS = pytest.mark.parametrize("form", [text, markdown, html, github], ids=["text", "markdown", "html", "github"])
# Of what a page is made, not of what it says.
_UNSEEN = re.compile(r"<style.*?</style>|<script.*?</script>|(?:class|id)=\"[^\"]*\"|step_ns<=", re.DOTALL)
_STEP = re.compile(r"\bsteps?\b", re.IGNORECASE)


def side(noun: Noun | None, ns: int, count: int = 30, **changed: object) -> list[Snapshot]:
    conditions = msgspec.structs.replace(CONDITIONS, steps_from="ProfilerStep" if noun == "step" else "inferred")
    return [snapshot(ns, count, noun=noun, conditions=conditions, quiet=("SY001",), **changed)]


def pair(noun: Noun | None, count: int = 30) -> Comparison:
    before = side(noun, 10_000_000, count, findings=(finding("SY001", 4_000_000), finding("DL001", 1_000_000)))
    after = side(noun, 7_000_000, count, findings=(finding("DL001", 900_000), finding("XF001", 500_000)))
    return compare(before, after)


def slower(noun: Noun) -> Comparison:
    return compare(side(noun, 7_000_000), side(noun, 10_000_000))


def said(form: object, comparison: Comparison) -> str:
    gate = apply_gate(comparison, parse_gate("step_ns<=+3%"))
    return _UNSEEN.sub("", form.render(comparison, gate))  # type: ignore[attr-defined]


@FORMATS
@pytest.mark.parametrize("made", [pair, slower], ids=["faster", "slower"])
def test_requests_are_never_called_steps(form, made):
    shown = said(form, made("request"))
    assert "a request" in shown or "the request" in shown
    assert _STEP.findall(shown) == []


@FORMATS
def test_steps_are_never_called_requests(form):
    shown = said(form, pair("step"))
    assert "a step" in shown
    assert "request" not in shown


@FORMATS
def test_few_of_them_are_called_what_they_are(form):
    shown = said(form, pair("request", 2))
    assert "too few requests" in shown
    assert _STEP.findall(shown) == []


@FORMATS
def test_two_recordings_without_steps_say_why_nothing_can_be_told(form):
    shown = said(form, pair("recording", 1))
    assert "no steps to compare" in shown.lower()
    assert "a step" not in shown


def test_a_pair_of_too_few_says_how_many_requests_to_record():
    unsure = compare(side("request", 10_000_000, 4), side("request", 10_400_000, 4))
    assert unsure.change is not None
    assert "requests a side (`advisor collect --active" in unsure.change.text


@pytest.mark.parametrize("old", [0, 1])
def test_a_baseline_that_does_not_say_takes_the_word_of_the_other_side(old):
    sides = [side("request", 10_000_000), side("request", 7_000_000)]
    sides[old] = [msgspec.structs.replace(sides[old][0], noun=None)]
    assert compare(*sides).noun == "request"


def test_sides_that_do_not_agree_are_of_steps():
    assert compare(side("step", 10_000_000), side("request", 7_000_000)).noun == "step"
    assert compare(side(None, 10_000_000), side(None, 7_000_000)).noun == "step"


def test_what_is_said_since_a_baseline_is_of_requests():
    told = since("main", pair("request"))
    words = [changes.figures(told), changes.answer(told), *(row.detail for row in changes.listed(told))]
    assert "a request (mean of 30 and 30 requests)" in words[0]
    assert _STEP.findall(" ".join(words)) == []
