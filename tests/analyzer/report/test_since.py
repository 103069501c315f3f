"""What a report says of the baseline it was made against."""

import msgspec
import pytest

from analyzer.compare.comparison import compare
from analyzer.page import changes as words
from analyzer.report import formats
from showing import analyses, comparisons
from showing.snapshots import CONDITIONS, finding, snapshot

FORMS = ["text", "markdown", "html", "github"]


def shown(comparison, form, analysis=None):
    text = formats.render(comparisons.against(analysis or analyses.example(), comparison), form).replace("\xa0", " ")
    # A page also holds its data, all of them.
    return text.partition('<script type="application/json"')[0]


@pytest.mark.parametrize("form", FORMS)
def test_the_step_before_and_after_and_the_answer_stand_in_the_report(form):
    text = shown(comparisons.pair(), form)
    assert "10 ms → 7.0 ms a step (mean of 30 and 30 steps)" in text
    assert "30.0 % faster" in text.replace("%25", "%")
    assert "Since baseline" in text


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_findings_are_told_by_what_became_of_them(form):
    still = finding("SY001", 900_000), finding("SY001", 400_000)
    before = snapshot(findings=(finding("DL001", 4_000_000), finding("ME001", 100_000), still[0]))
    after = snapshot(7_000_000, findings=(finding("XF001", 500_000), still[1]), quiet=("DL001",))
    text = shown(compare([before], [after]), form)
    for state, code, detail in (
        ("fixed", "DL001", "at most 4.0 ms a step was promised; confirmed: 3.0 ms faster"),
        ("new", "XF001", "saves at most 500 us a step"),
        ("still there", "SY001", "at most 900 us before, at most 400 us a step now"),
        ("could not be checked again", "ME001", "at most 100 us a step was promised"),
    ):
        assert text.index(state) < text.index(f"title of {code}") < text.index(detail)


def test_the_counts_of_the_states_add_up():
    since = comparisons.against(analyses.example(), comparisons.pair()).since
    counts, _, other = words.summary(since).partition(" New ones")
    assert counts == "1 finding fixed, 1 new."
    assert other.startswith(" may have been there before")
    assert words.summary(msgspec.structs.replace(since, rules=())) == "No findings on either side."


@pytest.mark.parametrize("form", FORMS)
def test_without_a_baseline_nothing_is_said_of_one(form):
    assert "Since baseline" not in formats.render(analyses.example(), form)


@pytest.mark.parametrize("form", FORMS)
def test_another_device_gets_no_verdict(form):
    other = snapshot(7_000_000, conditions=msgspec.structs.replace(CONDITIONS, device="A100"))
    text = shown(compare([snapshot(findings=(finding("DL001", 4_000_000),))], [other]), form)
    assert "not found here" in text
    assert "fixed" not in text.split("Since baseline")[1][:600]
    assert "Not comparable: another device. No verdict is given." in text
    assert "faster" not in text.split("Since baseline")[1].split("Not comparable")[0]


@pytest.mark.parametrize("form", FORMS)
def test_a_trace_that_cannot_be_believed_gets_no_figures(form):
    bad = compare([snapshot()], [snapshot(7_000_000, trust="unusable")])
    assert "7.0 ms a step" not in shown(bad, form, analyses.unusable())


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_of_many_findings_the_largest_are_named_and_the_others_counted(form):
    many = tuple(finding(f"XX{number:03}", 1_000 * (number + 1)) for number in range(30))
    text = shown(compare([snapshot(findings=many)], [snapshot()]), form)
    assert "title of XX029" in text
    assert "title of XX005" not in text
    assert "22 more findings in the JSON" in text


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_side_without_steps_has_no_step_time(form):
    text = shown(comparisons.empty(), form)
    assert "0 ns →" not in text
    assert "No verdict is given" in text
