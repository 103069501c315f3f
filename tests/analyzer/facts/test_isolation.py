"""A measurement that fails: the rules that need it cannot tell, the others go on, and the document is written and says so."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from analyzer.cause_names import CAUSES
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.facts.isolation import FactError, described, fact, passing
from analyzer.facts.section import Section
from analyzer.report.formats import render
from building.builders import TraceBuilder
from traces.errors import UsageError

SECTIONS: dict[str, type[Section]] = {
    section.NAME: section for section in Section.__subclasses__() if section is not Facts
}
FACTS = sorted(
    f"{name}.{member}"
    for name, section in SECTIONS.items()
    for member, value in vars(section).items()
    if isinstance(value, fact)
)
# What every figure is made of; without one of these nothing may be advised.
CORE = {"device.work", "device.launched", "device.found", "host.main_thread", "host.threads"}


def world(device: str | None) -> Facts:
    builder = TraceBuilder(device)
    for number in range(6):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, 60_000, workers=2)
        builder.op("aten::mm", at + 61_000, 1_000)
        if device:
            builder.launch(at + 61_000, kernel_start=at + 61_010, kernel_dur=30_000)
    return Facts(builder.trace())


def breaking(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def fail(self: Facts) -> None:
        raise IndexError("nothing to take")

    section, _, member = name.partition(".")
    broken = fact(fail)
    broken._name = member
    monkeypatch.setattr(SECTIONS[section], member, broken)


@pytest.mark.parametrize("device", ["cuda", None])
@pytest.mark.parametrize("name", FACTS)
def test_one_that_fails_takes_nothing_along(name: str, device: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    breaking(monkeypatch, name)
    facts = world(device)
    analysis = explain_facts(facts).analysis
    assert not [check for check in analysis.checks if check.state == "crashed"]
    assert sum(part.ns for part in analysis.summary.waterfall) == analysis.summary.window_ns
    waiting = [
        check for check in analysis.checks if f"`{name}`, which failed: IndexError: nothing to take" in check.reason
    ]
    assert {check.state for check in waiting} <= {"cannot_tell"}
    said = [reason.message for reason in analysis.trust.reasons] + list(analysis.trace.notes)
    if name in facts.failures and not waiting:
        assert any(f"`{name}`" in sentence for sentence in said)
    if name in CORE and name in facts.failures:
        assert analysis.trust.verdict == "unusable"
        assert not analysis.findings
    for form in ("text", "json"):
        assert render(analysis, form)


def test_rules_that_do_not_need_it_find_what_they_find(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = explain_facts(world("cuda")).analysis
    breaking(monkeypatch, "kernels.attention")
    analysis = explain_facts(world("cuda")).analysis
    assert [finding.id for finding in analysis.findings] == [finding.id for finding in whole.findings] != []
    states = {check.rule: check.state for check in analysis.checks}
    assert states == {check.rule: check.state for check in whole.checks} | {"GR005": "cannot_tell"}
    assert analysis.summary == whole.summary


def test_what_the_waterfall_lacks_is_a_reason_for_caution(monkeypatch: pytest.MonkeyPatch) -> None:
    assert explain_facts(world("cuda")).analysis.trust.verdict == "ok"
    breaking(monkeypatch, "host.restarts")
    analysis = explain_facts(world("cuda")).analysis
    assert analysis.trust.verdict == "caution"
    assert "could not measure `host.restarts`" in analysis.trust.reasons[0].message


def test_steps_that_fail_leave_nothing_to_advise(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise IndexError("nothing to take")

    monkeypatch.setattr("analyzer.facts.find_steps", fail)
    analysis = explain_facts(world("cuda")).analysis
    assert analysis.trust.verdict == "unusable"
    assert "could not measure `steps`" in analysis.trust.reasons[0].message
    assert not analysis.findings


def test_a_waterfall_that_fails_leaves_all_time_unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr("analyzer.facts.time.section.device_waterfall", fail)
    analysis = explain_facts(world("cuda")).analysis
    owned = {part.cause: part.ns for part in analysis.summary.waterfall}
    assert owned == dict.fromkeys(CAUSES, 0) | {"unexplained": analysis.summary.window_ns}
    assert analysis.trust.verdict == "unusable"


@pytest.mark.parametrize("part", ["judgement_of", "lanes", "recorded_totals", "finding_document", "symptom"])
def test_parts_of_the_document_fail_by_themselves(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Iterator[object]:
        raise KeyError("absent")

    modules = {"judgement_of": "analyzer.assemble.verdict", "lanes": "analyzer.assemble.steps"}
    if part == "symptom":
        monkeypatch.setattr("analyzer.facts.health.section.CHECKS", {"anything": fail})
    else:
        # By its name: a function hides the module.
        monkeypatch.setattr(sys.modules[modules.get(part, "analyzer.assemble")], part, fail)
    analysis = explain_facts(world("cuda")).analysis
    said = " ".join([*analysis.trace.notes, *(reason.message for reason in analysis.trust.reasons)])
    assert "KeyError: 'absent'" in said


def test_failures_are_kept_and_errors_for_the_user_pass() -> None:
    class Measurements:
        def __init__(self) -> None:
            self.failures: dict[str, FactError] = {}
            self.times = 0

        @fact
        def first(self) -> int:
            self.times += 1
            raise ValueError("x" * 1_000)

        @fact
        def second(self) -> int:
            return self.first + 1

        @fact
        def of_the_user(self) -> int:
            raise UsageError("choose")

    made = Measurements()
    for name in ("first", "second", "second"):
        with pytest.raises(FactError, match=r"`first` failed: ValueError: x{300}\.\.\.") as caught:
            getattr(made, name)
        assert len(caught.value.reason) < 400
    assert made.times == 1
    assert set(made.failures) == {"first"}
    with pytest.raises(UsageError):
        _ = made.of_the_user


def test_an_error_that_cannot_even_be_told() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    with pytest.raises(Mute) as caught:
        raise Mute
    assert re.fullmatch(r"Mute \(test_isolation\.py:\d+\)", described(caught.value))
    assert described(ValueError("two\nlines")) == "ValueError: two lines"


def test_what_passes_is_measured_each_time_and_what_stays_once() -> None:
    class Counted(Section):
        NAME = "counted"
        asked = 0

        @passing
        def passes(self) -> int:
            self.asked += 1
            return self.asked

        @fact
        def stays(self) -> int:
            self.asked += 1
            return self.asked

        @passing
        def fails(self) -> int:
            self.asked += 1
            raise IndexError("nothing to take")

    section = Counted(world(None).trace, {})
    assert [section.passes, section.passes] == [1, 2]
    assert [section.stays, section.stays] == [3, 3]
    for _ in range(2):
        with pytest.raises(FactError, match=r"counted\.fails"):
            _ = section.fails
    # What failed fails again.
    assert section.asked == 4
