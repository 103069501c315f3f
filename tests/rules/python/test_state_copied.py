"""PY007: six tensors receive a gradient, and six are copied behind the update of each step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.facts.host.copied_rows import CopiedRows
from analyzer.finding import Confidence, Severity, State
from building.builders import MAIN, TraceBuilder
from rules.python.python_overhead import RULE as PYTHON
from rules.python.repeated_small_ops import RULE as LOOPS
from rules.python.state_copied import RULE
from running.one_rule import judged, run
from running.recording import recorded_steps

STEP = 10_000
CLONES = ("aten::clone", "aten::detach")
STORAGES = ("aten::empty", "aten::set_", "aten::copy_", "aten::new_empty", "aten::set_")


def world(
    *,
    tensors: int = 6,
    receive: int = 6,
    unit: tuple[str, ...] = CLONES,
    each: float = 90,
    numbers: int = 0,
    device: str | None = None,
    busy: bool = False,
) -> TraceBuilder:
    """Steps of 10 ms on the CPU that begin with the unit once for each tensor, every op 10 us behind the one before.

    Args:
        tensors: How many.
        receive: How many receive a gradient.
        unit: Ops for each.
        each: How long an op takes.
        numbers: By how much autograd's number is higher behind each op.
        device: Of the trace.
        busy: Whether the device works meanwhile.
    """
    builder = TraceBuilder(device)
    for number in range(4):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(tensors * len(unit)):
            told = {"Sequence number": 1_000 * number + index * numbers} if numbers else {}
            builder.op(unit[index % len(unit)], at + index * (each + 10), each, **told)
        rest = at + tensors * len(unit) * (each + 10)
        told = {"Sequence number": 1_000 * number + 900} if numbers else {}
        if device is not None:
            builder.launch(
                rest, kernel_start=(at if busy else rest) + 5, kernel_dur=at + 9_000 - (at if busy else rest), op=None
            )
        builder.op("aten::linear", rest, at + 9_000 - rest, **told)
        for index in range(receive):
            builder.op("torch::autograd::AccumulateGrad", at + 9_000 + index * 60, 50)
        builder.op("aten::mul_", at + 9_000 + receive * 60, 995 - receive * 60)
    return builder


def test_fires_with_the_time_of_the_row() -> None:
    found = judged(RULE, world())
    # Twelve ops of 90 us; the way from one to the next counts, that behind the last does not.
    assert found.finding.saving.kernel_ns == 4 * 12 * 90 * 1_000
    assert found.finding.saving.claims.total_ns == 4 * 11 * 10 * 1_000
    assert found.ratio == pytest.approx(0.119, abs=1e-6)
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.MEDIUM)
    assert "6 tensors are copied in a row, at least as many as receive a gradient, in 4 of 4 steps" in found.finding.why
    assert "as for a copy of the weights" in found.finding.why
    assert "_foreach_copy_" in found.finding.fix[1].code


@pytest.mark.parametrize(
    ("how", "state"),
    [
        ({"unit": STORAGES}, State.FIRED),
        ({"unit": ("aten::clone",)}, State.FIRED),
        ({"unit": ("aten::detach", "aten::clone")}, State.FIRED),
        # Fewer than there are weights; and of three any list of tensors has as many.
        ({"tensors": 5}, State.NOT_APPLICABLE),
        ({"tensors": 3, "receive": 3}, State.NOT_APPLICABLE),
        ({"receive": 0}, State.NOT_APPLICABLE),
        # Into tensors that are there, as `load_state_dict` copies; and of what is computed between.
        ({"unit": ("aten::copy_",)}, State.NOT_APPLICABLE),
        ({"unit": ("aten::detach", "aten::copy_")}, State.NOT_APPLICABLE),
        ({"unit": ("aten::clone", "aten::mul_")}, State.NOT_APPLICABLE),
        ({"unit": ("aten::detach",)}, State.NOT_APPLICABLE),
        # Part of the model: gradients go back through them.
        ({"numbers": 1}, State.NOT_APPLICABLE),
    ],
)
def test_only_rows_of_copies_into_new_tensors(how: dict[str, Any], state: State) -> None:
    assert run(RULE, world(**how)).state is state


@pytest.mark.parametrize(("each", "state"), [(30, State.CLEAR), (35, State.FIRED)])
def test_boundary(each: float, state: State) -> None:
    assert run(RULE, world(each=each)).state is state


@pytest.mark.parametrize(("busy", "state"), [(True, State.CLEAR), (False, State.FIRED)])
def test_on_a_device_what_it_idles_for_them(busy: bool, state: State) -> None:
    assert run(RULE, world(device="cuda", busy=busy)).state is state


@pytest.mark.parametrize(
    ("unit", "frame", "deep"),
    [
        (STORAGES, None, True),
        (CLONES, None, False),
        (CLONES, "/usr/lib/python3.12/copy.py(118): deepcopy", True),
        (CLONES, "copy.py(118): deepcopy", True),
        (CLONES, "copy.py(61): copy", False),
    ],
)
def test_a_deep_copy_is_named_by_its_storages_or_its_frames(
    unit: tuple[str, ...], frame: str | None, deep: bool
) -> None:
    builder = world(unit=unit)
    for number in range(4 if frame is not None else 0):
        builder.python(str(frame), number * STEP, 1_500)
    assert ("by `copy.deepcopy`" in judged(RULE, builder).finding.why) is deep


def test_frames_of_another_thread_copy_nothing_here() -> None:
    builder = world()
    for number in range(4):
        builder.python("copy.py(118): deepcopy", number * STEP, 1_500, thread=MAIN + 1)
    assert "deepcopy`" not in judged(RULE, builder).finding.why


def test_what_waits_between_copies_is_no_part_of_them() -> None:
    builder = world(tensors=12, each=40)
    before = judged(RULE, builder).finding.saving.total_ns
    for event in builder.events:
        if (
            event["name"] != "ProfilerStep"
            and event["ts"] % STEP >= 600
            and event["ts"] % STEP < 9_000
            and "args" in event
        ):
            event["ts"] += 2_000
            event["dur"] = min(event["dur"], 3_000)
    assert judged(RULE, builder).finding.saving.total_ns == pytest.approx(before, rel=0.01)


def test_a_loop_that_it_tells_of_is_no_other_finding() -> None:
    """Twelve tensors are a loop of small ops as well, which no stack and no batched op would end."""
    builder = world(tensors=12, each=18)
    assert run(RULE, builder).state is State.FIRED
    assert run(LOOPS, builder).state is State.CLEAR
    assert run(PYTHON, builder).state is State.CLEAR


def test_a_list_of_fewer_tensors_than_weights_is_copied_into_tensors_that_are_there() -> None:
    found = judged(LOOPS, world(tensors=12, receive=14, each=18)).finding
    assert found.title == "Tensors copied one by one"
    assert ["_foreach_copy_" in advice.code for advice in found.fix] == [True]


def record(path: Path, keep: Callable[[Any], None]) -> CopiedRows:
    """Training steps, each followed by what is done with the model."""
    import torch

    model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(3)])
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(4, 16)).sum().backward()
        optimizer.step()
        keep(model)

    return recorded_steps(path, step).host.copied_rows


def test_recorded_here_copies_are_known_by_their_ops(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    import copy

    other = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(3)])
    deep = record(tmp_path / "deep.json", lambda model: copy.deepcopy(model.state_dict()))
    assert (deep.rows, deep.copies, deep.deep) == (3, 18, True)
    whole = record(tmp_path / "whole.json", copy.deepcopy)
    assert (whole.rows, whole.copies) == (3, 18)
    assert (
        record(tmp_path / "cloned.json", lambda model: [one.detach().clone() for one in model.parameters()]).copies
        == 18
    )
    assert record(tmp_path / "loaded.json", lambda model: other.load_state_dict(model.state_dict())).rows == 0
    assert record(tmp_path / "none.json", lambda model: model.state_dict()).rows == 0
    assert record(tmp_path / "graph.json", lambda model: [one.clone() for one in model.parameters()]).rows == 0
