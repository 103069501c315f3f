"""Very many steps and devices: each figure is made of all of them, lists stop and say so."""

from __future__ import annotations

import sys

import pytest

from analyzer.analysis import Analysis
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.report import formats
from building.builders import TraceBuilder


def explained(builder: TraceBuilder) -> Analysis:
    return explain_facts(Facts(builder.trace())).analysis


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("analyzer.assemble", "analyzer.assemble.steps"):
        monkeypatch.setattr(f"{module}.MOST_STEPS", 10)
    monkeypatch.setattr("analyzer.assemble.MOST_DEVICES", 2)
    # Beside the module stands its function of the same name.
    monkeypatch.setattr(sys.modules["analyzer.assemble.summary"], "MOST_DEVICES", 2)


def stepped(count: int) -> TraceBuilder:
    builder = TraceBuilder(None)
    at = 0
    for number in range(count):
        length = 5_000 if number == 17 else 1_000
        builder.step(number, at, length)
        builder.op("aten::mm", at + 100, length - 200)
        at += length
    return builder


def driving(devices: int) -> TraceBuilder:
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 1_000, 1_000)
        for device in range(devices):
            builder.launch(
                number * 1_000 + device * 10, kernel_start=number * 1_000 + 200, kernel_dur=300, device=device
            )
    return builder


@pytest.mark.usefixtures("_few")
def test_the_first_steps_and_the_drawn_ones_are_listed() -> None:
    analysis = explained(stepped(40))
    listed = [row.step for row in analysis.steps]
    assert listed[:10] == list(range(10))
    drawn = {analysis.summary.representative_step, analysis.slowest.step if analysis.slowest else None}
    assert set(listed[10:]) == drawn - set(range(10))
    assert 17 in listed
    assert analysis.summary.used_steps == 40
    assert analysis.summary.step_ns.mean == 1_100_000
    assert sum(part.ns for part in analysis.summary.waterfall) == analysis.summary.window_ns == 44_000_000
    assert all(sum(cause.ns for cause in row.causes) == row.dur_ns for row in analysis.steps)
    assert any("the first 10 of 40 steps are listed" in note for note in analysis.trace.notes)


@pytest.mark.usefixtures("_few")
def test_reports_name_the_number_of_all_steps() -> None:
    analysis = explained(stepped(400))
    assert f"and {400 - len(analysis.steps)} more" in formats.render(analysis, "text")
    assert "400 steps" in formats.render(analysis, "html")


@pytest.mark.usefixtures("_few")
def test_few_steps_and_devices_are_all_there() -> None:
    analysis = explained(stepped(10))
    assert (len(analysis.steps), analysis.trace.notes) == (10, ())
    assert len(explained(driving(2)).summary.devices) == 2


@pytest.mark.usefixtures("_few")
def test_of_many_devices_some_have_a_waterfall() -> None:
    analysis = explained(driving(5))
    assert analysis.trace.device.count == 5
    assert [one.device for one in analysis.summary.devices] == ["0", "1"]
    assert any("the 2 of 5 devices with the most launches have a waterfall" in note for note in analysis.trace.notes)
