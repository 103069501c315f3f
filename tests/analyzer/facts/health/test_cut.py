"""PG005 where a file ends early: what it lost looks like waiting, of the last step or of all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity, Symptom
from building.builders import TraceBuilder
from traces.reader.read import read

_HOST = ("cpu_op", "user_annotation")


def training(*, marked: bool = True) -> TraceBuilder:
    """Eight steps of 1 ms that keep the device busy."""
    builder = TraceBuilder()
    for number in range(8):
        at = number * 1_000
        if marked:
            builder.step(number, at, 1_000)
        for index in range(20):
            builder.launch(at + index * 45, kernel_start=at + index * 45 + 8, kernel_dur=40)
    return builder


def cut(folder: Path, builder: TraceBuilder, share: float) -> list[Symptom]:
    """The symptoms of the first part of a file, without that of its repair."""
    text = json.dumps(builder.document())
    path = folder / "trace.json"
    path.write_text(text[: int(len(text) * share)])
    return [symptom for symptom in Facts(read(path)).health.symptoms if symptom.code == "PG005"]


@pytest.mark.parametrize("share", [0.7, 0.85, 0.95])
@pytest.mark.parametrize("marked", [True, False])
def test_a_file_that_kineto_wrote_says_nothing_of_any_step(tmp_path: Path, share: float, marked: bool) -> None:
    builder = training(marked=marked)
    builder.events.sort(key=lambda event: event["cat"] not in _HOST)
    gravest = cut(tmp_path, builder, share)[0]
    assert gravest.gravity is Gravity.UNUSABLE
    assert "may be of any part of the last" in gravest.message
    assert "copy the file again whole" in (gravest.fix or "")


def test_a_file_in_the_order_of_time_loses_its_end_only(tmp_path: Path) -> None:
    assert cut(tmp_path, training(), 0.7) == []


@pytest.mark.parametrize("share", [0.55, 0.75, 0.85])
def test_a_file_that_ends_in_its_only_step_is_no_base_of_advice(tmp_path: Path, share: float) -> None:
    """The mark stands first: what follows the last event that was read looks like time in which nothing happens."""
    builder = TraceBuilder()
    builder.top = {"schemaVersion": 1}
    builder.step(0, 0, 1_000)
    for index in range(100):
        builder.op("aten::add", index * 10, 9)
    assert cut(tmp_path, builder, 1.0) == []
    (symptom,) = cut(tmp_path, builder, share)
    assert symptom.gravity is Gravity.UNUSABLE
    assert "no step is whole" in symptom.message


def test_of_a_file_that_ends_in_its_second_step_the_first_is_judged(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.top = {"schemaVersion": 1}
    for number in range(2):
        builder.step(number, number * 1_000, 1_000)
        for index in range(100):
            builder.op("aten::add", number * 1_000 + index * 10, 9)
    assert cut(tmp_path, builder, 0.75) == []


def test_without_marks_a_small_loss_is_one(tmp_path: Path) -> None:
    assert cut(tmp_path, training(marked=False), 0.7) == []


def test_a_file_that_ends_before_its_device_work_is_no_cpu_trace(tmp_path: Path) -> None:
    builder = training()
    builder.events = [event for event in builder.events if event["cat"] in _HOST]
    gravest = cut(tmp_path, builder, 0.95)[0]
    assert gravest.gravity is Gravity.UNUSABLE
    assert "before any device work" in gravest.message


def test_a_cut_trace_of_the_cpu_alone_is_whole_up_to_its_end(tmp_path: Path) -> None:
    builder = training()
    builder.events = [event for event in builder.events if event["cat"] in _HOST]
    builder.top = {"schemaVersion": 1}
    assert cut(tmp_path, builder, 0.95) == []


@pytest.mark.parametrize("share", [0.5, 0.7, 0.8, 0.9])
def test_kernels_that_a_cut_file_lost_are_not_spread_over_the_steps(tmp_path: Path, share: float) -> None:
    """The device is a step behind the host: of the last steps marks and launches are there, kernels are not, or in part."""
    builder = training()
    kernels = [event for event in builder.events if event["cat"] == "kernel"]
    for event in kernels:
        event["ts"] += 1_500
    builder.events.sort(key=lambda event: event["ts"])
    assert cut(tmp_path, builder, share) == []
    frame = Facts(read(tmp_path / "trace.json")).steps.frame
    assert set(frame["device_events"][frame["used"]]) == {20}
    assert not frame["used"].iloc[-1]
