"""What lies in no step, before the first or behind the last one, is measured and told with the verdict."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from analyzer.explain import analyse
from analyzer.facts import Facts
from building.builders import TraceBuilder
from building.clocked import Clocked
from known.sayings import explained
from programs.evaluating import turns
from stories.models import layers


def followed(batches: int, *, loader: bool = True, marks: bool = True) -> Clocked:
    """Eight steps of training, and so many batches of an evaluation behind the last of them."""
    world = turns("tttttttt", marks=marks)
    for _ in range(batches):
        if loader:
            world.load(3_000, workers=2)
        layers(world, 4)
        world.read_value()
    return world


def told(world: TraceBuilder) -> str:
    """What of the verdict is about it."""
    found = re.search(r"\S+ % of what was recorded, .*", explained(world).summary.verdict.text)
    return "" if found is None else found.group()


def test_an_evaluation_behind_the_last_step_is_told_with_its_length_and_place() -> None:
    said = told(followed(20))
    assert said.startswith("51 % of what was recorded, the last 198 ms, lies in no step and counts in no figure.")
    assert "as an evaluation does" in said


def test_a_recording_whose_steps_hold_all_is_told_nothing() -> None:
    assert not told(followed(0))
    # A single batch of an evaluation is less than a tenth of the recording.
    assert not told(followed(1))


def test_what_draws_no_batches_is_told_without_a_guess_at_what_it_is() -> None:
    for marks in (True, False):
        said = told(followed(20, loader=False, marks=marks))
        assert "lies in no step" in said
        assert "evaluation" not in said


def on_the_cpu(batches: int) -> TraceBuilder:
    """Four steps of training without a device, and so many batches of an evaluation behind the last of them."""
    builder = TraceBuilder(None)
    builder.top = {"schemaVersion": 1}
    for number in range(4 + batches):
        at = number * 1_000
        if number < 4:
            builder.step(number, at, 1_000)
        builder.loader(at, 500)
        for index in range(20):
            builder.op("aten::add", at + 500 + index * 10, 9)
        if number < 4:
            builder.op("autograd::engine::evaluate_function: AddBackward0", at + 800, 90)
            builder.optimizer(at + 900, 90)
    return builder


def cut(folder: Path, builder: TraceBuilder, share: float) -> str:
    """What the verdict says of it where the file ends early, written in the order of time."""
    document = builder.document()
    document["traceEvents"].sort(key=lambda event: event.get("ts", 0))
    text = json.dumps(document)
    (folder / "trace.json").write_text(text[: int(len(text) * share)])
    return analyse(folder / "trace.json").summary.verdict.text


@pytest.mark.parametrize("share", [0.65, 0.68, 0.72, 0.9, 0.94, 0.97])
def test_the_step_in_which_a_file_ends_is_no_evaluation(share: float, tmp_path: Path) -> None:
    """Its batch is drawn, its backward pass is lost."""
    said = cut(tmp_path, on_the_cpu(0), share)
    assert "Input-bound" in said
    assert "lies in no step" not in said


def test_an_evaluation_in_which_a_file_ends_is_told(tmp_path: Path) -> None:
    assert "as an evaluation does" in cut(tmp_path, on_the_cpu(4), 0.95)


@pytest.mark.parametrize(("before", "after"), [(0, 0), (400, 0), (0, 300), (400, 300)])
def test_both_ends_are_measured(before: int, after: int) -> None:
    builder = TraceBuilder(None)
    if before:
        builder.op("aten::mm", 0, before)
    for number in range(3):
        builder.step(number, before + number * 1_000, 1_000)
        builder.op("aten::mm", before + number * 1_000, 900)
    if after:
        builder.op("aten::mm", before + 3_000, after)
    found = Facts(builder.trace()).health.outside_steps
    assert (found.before_ns, found.after_ns) == (before * 1_000, after * 1_000)
    assert found.ratio == pytest.approx((before + after) / (3_000 + before + after))
    assert not found.evaluates


def test_what_a_step_launched_is_its_own_though_it_runs_behind_its_mark() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 1_000, 1_000)
        builder.launch(number * 1_000, kernel_start=10 + number * 3_000, kernel_dur=2_900)
    assert Facts(builder.trace()).health.outside_steps.after_ns == 0


def test_a_recording_taken_as_one_step_leaves_nothing_out() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=50)
    assert Facts(builder.trace()).health.outside_steps.ratio == 0.0
