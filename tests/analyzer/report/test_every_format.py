"""What holds for every format: it renders any document, the same one each time, and sends no control character."""

import random
import re

import msgspec
import pytest

from analyzer import analysis as doc
from analyzer.analysis import Analysis
from analyzer.report import formats
from showing import analyses, comparisons

EXAMPLES = [
    analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile,
    comparisons.since_baseline, comparisons.since_hostile_baseline,
]  # fmt: skip


def changed(value, chance, dice):
    """The document with some numbers replaced by ones that nobody would measure, and some lists emptied."""
    if isinstance(value, dict):
        return {key: changed(item, chance, dice) for key, item in value.items()}
    if isinstance(value, list):
        return [] if dice.random() < chance / 4 else [changed(item, chance, dice) for item in value]
    if isinstance(value, bool) or dice.random() >= chance:
        return value
    if isinstance(value, int):
        return dice.choice([0, -1, 1, 2**62])
    return dice.choice([0.0, -1.0, 7.5, 1e9]) if isinstance(value, float) else value


@pytest.mark.parametrize("form", formats.BY_NAME)
@pytest.mark.parametrize("seed", range(40))
def test_any_numbers_can_be_rendered(form, seed):
    """A report may be read again after anybody changed it."""
    dice = random.Random(seed)
    document = changed(msgspec.to_builtins(comparisons.since_baseline()), dice.choice([0.02, 0.2, 1.0]), dice)
    assert formats.render(msgspec.convert(document, Analysis), form).endswith("\n")


@pytest.mark.parametrize("form", formats.BY_NAME)
@pytest.mark.parametrize("build", EXAMPLES)
def test_every_document_renders_the_same_each_time_and_holds_no_control_character(form, build):
    text = formats.render(build(), form)
    assert text == formats.render(build(), form)
    unprintable = {character for character in text if not character.isprintable()} - {"\n"}
    # JSON keeps the letters of the trace, escaped only as its grammar asks; a page ties numbers to their units.
    assert unprintable <= {"json": {"\u202e", "\ud7ff", "\x9b"}, "html": {"\xa0"}}.get(form, set())


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_an_accepted_finding_is_shown_with_its_reason(form):
    base = analyses.example()
    reason = "loaded in the step <b>on</b> purpose"
    findings = tuple(msgspec.structs.replace(one, accepted=reason) for one in base.findings)
    text = formats.render(msgspec.structs.replace(base, findings=findings), form)
    shown = {
        "markdown": "**Accepted:** loaded in the step `<b>on</b>` purpose",
        "html": "&lt;b&gt;on&lt;/b&gt; purpose",
    }
    assert "accepted" in text.lower()
    assert shown.get(form, reason) in text


def noted(reason, **changes):
    """The example with one finding of no saving, in whose words or others trust gives a reason; without repairs."""
    why = "Only one step can be used: one slow step cannot be told from a slow program"
    found = analyses.finding("PG003-0001", "Too few steps are recorded", "info", 0, why=why, **changes)
    reasons = (doc.Reason(code=reason, message=f"{why}. Next time: record six.", count=1),)
    return analyses.example(findings=(found,), repairs=(), trust=doc.Trust(verdict="caution", reasons=reasons))


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_finding_that_trust_gives_as_a_reason_is_told_once(form):
    rendered = " ".join(
        re.sub(r"<script.*?</script>", "", formats.render(noted("PG003"), form), flags=re.DOTALL).split()
    )
    assert rendered.count("one slow step cannot be told from a slow program") == 1
    assert "record six" in rendered
    assert "smaller finding" not in rendered


@pytest.mark.parametrize("reason", [{"reason": "PG001"}, {"reason": "PG003", "accepted": "one step is all there is"}])
def test_a_finding_of_which_trust_says_less_is_listed(reason):
    analysis = noted(**reason)
    assert [one.rule for one in analysis.minor] == ["PG003"]
    assert "Too few steps are recorded" in formats.render(analysis, "text")
    assert "Too few steps are recorded" in formats.render(analysis, "html")


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_repair_is_counted_and_placed(form):
    text = " ".join(formats.render(analyses.example(), form).split())
    assert "1 x: the last event was cut off; left out (first at byte 18,870,001, event 412,345)" in text


@pytest.mark.parametrize(
    ("offset", "event", "place"), [(5, None, " (first at byte 5)"), (None, 0, " (first at event 0)"), (None, None, "")]
)
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_place_that_is_not_known_is_not_made_up(form, offset, event, place):
    repair = doc.Repair(kind="truncated", count=1, first_offset=offset, first_event=event, message="it was cut")
    text = " ".join(formats.render(analyses.example(repairs=(repair,)), form).split())
    assert f"1 x: it was cut{place} " in text.replace("<", " <") + " "


def test_more_kinds_of_repair_than_are_listed_are_counted():
    repairs = tuple(doc.Repair(kind=f"k{i}", count=1, first_offset=None, message=f"mended k{i}.") for i in range(14))
    text = formats.render(analyses.example(repairs=repairs), "text")
    assert "mended k11." in text
    assert "mended k12." not in text
    assert "2 more kinds of repair" in text


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_how_an_odd_file_is_written_is_said(form):
    note = "the file is a bare list of events: device, rank and versions are not stated"
    noted = analyses.example(trace=analyses.trace_info(notes=(note,)))
    assert note in " ".join(formats.render(noted, form).split())
    assert note not in " ".join(formats.render(analyses.example(), form).split())
