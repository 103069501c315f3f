"""ID005: six steps of 100 ms; the loop prints for 10 ms of each while the device idles."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from rules.idle.output_in_steps import RULE
from running.one_rule import judged, run

PRINT = "<built-in function print>"
LINES = {
    "logging": "logging/__init__.py(1086): emit",
    "progress bar": "tqdm/std.py(1325): refresh",
    "experiment tracker": "torch/utils/tensorboard/writer.py(345): add_scalar",
    "checkpoint": "torch/serialization.py(930): save",
}


def world(
    *, name: str = PRINT, dur: float = 10_000, steps: Collection[int] = range(6), busy: bool = False
) -> TraceBuilder:
    """Compute for 50 ms of each step, then the loop writes for so long.

    Args:
        name: Of the call that writes.
        dur: How long it takes.
        steps: Which steps write.
        busy: Whether the device works meanwhile.
    """
    builder = TraceBuilder()
    for number in range(6):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.python("train.py(10): main", at + 10, 99_000)
        builder.launch(at + 100, kernel_start=at + 200, kernel_dur=95_000 if busy else 50_000)
        # The loop asks for the loss, and so waits for the device.
        if not busy:
            builder.runtime("cudaDeviceSynchronize", at + 300, 49_900)
        if number in steps:
            builder.python(name, at + 50_400, dur)
    return builder


def test_fires_with_the_time_in_which_nothing_else_goes_on():
    found = judged(RULE, world())
    assert found.ns_per_step == 10_000_000
    assert "in 6 of 6 steps, 10 ms a step (10 %)" in found.finding.why
    assert "mostly to: print in `main` (train.py, from line 10)" in found.finding.why


@pytest.mark.parametrize(("kind", "name"), LINES.items())
def test_where_it_goes(kind, name):
    assert f"mostly to: {kind}" in judged(RULE, world(name=name)).finding.why


@pytest.mark.parametrize(("dur", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(dur, state):
    assert run(RULE, world(dur=dur)).state is state


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "train.py(20): write"},
        {"busy": True},
        {"dur": 40_000, "steps": (0, 1)},
        # It holds the whole loop.
        {"name": "tqdm/std.py(1160): __iter__"},
    ],
)
def test_quiet(arguments):
    assert run(RULE, world(**arguments)).state is State.CLEAR


def test_cannot_tell_without_stacks():
    builder = world()
    builder.events = [event for event in builder.events if event["cat"] != "python_function"]
    assert run(RULE, builder).state is State.CANNOT_TELL
