"""One vocabulary: what is counted and what it is called is the same in every format and on the screen."""

from typing import get_args

import msgspec
import pytest

from analyzer.analysis import SeverityName, StateName
from analyzer.cause_names import CAUSES
from analyzer.page.findings import groups
from analyzer.page.words import vocabulary
from analyzer.report import formats
from showing import analyses

WHOLE = ("text", "markdown", "html")


@pytest.mark.parametrize("form", WHOLE)
def test_findings_are_counted_alike(form):
    assert groups.counts(analyses.example()) == "6 to act on, 1 explained, 1 note"
    assert "6 to act on, 1 explained, 1 note" in formats.render(analyses.example(), form)


@pytest.mark.parametrize("form", WHOLE)
def test_checks_are_counted_alike(form):
    line = vocabulary.states_line(analyses.example().checks)
    assert line.startswith("8 found, 1 crashed, 2 cannot tell, 3 passed")
    assert line in " ".join(formats.render(analyses.example(), form).split())


def test_what_the_team_lives_with_is_not_to_act_on():
    base = analyses.example()
    first = base.cards[0]
    others = [one for one in base.findings if one.id != first.id]
    accepted = msgspec.structs.replace(base, findings=(msgspec.structs.replace(first, accepted="on purpose"), *others))
    assert groups.counts(accepted) == "5 to act on, 1 accepted, 1 explained, 1 note"


def test_every_finding_is_in_one_group():
    for build in (analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.hostile):
        analysis = build()
        found = groups.grouped(analysis)
        every = [*found.to_act_on, *found.accepted, *found.explained, *found.notes]
        assert sorted(one.id for one in every) == sorted(one.id for one in analysis.findings)


def test_nothing_found_has_no_counts_and_only_notes_leave_nothing_to_do():
    base = analyses.example()
    note = next(one for one in base.findings if one.id in {finding.id for finding in base.minor})
    assert groups.counts(msgspec.structs.replace(base, findings=())) == ""
    assert groups.counts(msgspec.structs.replace(base, findings=(note,))) == "0 to act on, 1 note"


def test_everything_the_document_may_say_has_a_word():
    assert set(vocabulary.CAUSES) == set(CAUSES)
    assert set(vocabulary.STATES) == set(get_args(StateName))
    assert set(vocabulary.SEVERITIES) == set(vocabulary.MARKS) == set(get_args(SeverityName))
    assert max(map(len, vocabulary.CAUSES.values())) <= 13


@pytest.mark.parametrize("form", WHOLE)
def test_what_was_recorded_is_named(form):
    whole = formats.render(analyses.no_steps(), form)
    assert "of the step or more" not in whole
