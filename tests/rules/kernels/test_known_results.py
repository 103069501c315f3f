"""KE015: calls of modules that compute what is known, as `advisor collect` marked them."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from programs.hardware import MATRIX
from rules.kernels.known_results import RULE
from running.one_rule import judged, run
from traces.reader.names.again import IN_EACH_EPOCH, IN_EACH_STEP, IN_STEP

STEPS = 3
RUN = {"steps": 1_000, "times": [[1_000, 10_000_000_000]]}


def world(
    *, scope: str = IN_STEP, told: bool = True, dur: float = 2_000, calls: int = 1, device: str | None = None,
    forward_only: bool = False, marked: bool = True, random: bool | None = False, length: int | None = None, line: int | None = 12,
) -> TraceBuilder:  # fmt: skip
    """Three steps of 10 ms: a call of the model, again, each with an op and a node of the backward pass of 1 ms.

    Args:
        scope: How far back the result lies that the second call computes again.
        told: Whether the collector looked.
        dur: Time of the second call, us.
        calls: Calls a step that the collector tells of.
        device: Where ops compute.
        forward_only: Whether the second call is the one to keep.
        marked: Whether the collector says that it marked them.
        random: Whether samples come out different in each epoch.
        length: Samples of the data set; None where nobody knows how often the run passes through it.
        line: Where the program makes the call.
    """
    row = {
        "module": "net (Net)", "scope": scope, "calls": calls, "result_bytes": 8_000, "forward_only": forward_only,
        "marked": marked, "file": "train.py", "line": line, "function": "step",
    }  # fmt: skip
    advisor: dict[str, Any] = {"dataset": {"name": "Digits", "length": length, "random": random}, "batch_size": 10}
    advisor |= {"computed_again": [row] if calls else []} if told else {}
    advisor |= {"run": RUN, "steps": {"source": "optimizer", "batches_per_step": 1.0}} if length else {}
    builder = TraceBuilder(device, advisor=advisor)
    for step in range(STEPS):
        at = step * 10_000.0
        builder.step(step, at, 10_000)
        _layer(builder, at + 100, 1_000, 10 * step + 1)
        builder.annotation(f"Computed again {scope}: net (Net)", at + 2_000, dur)
        _layer(builder, at + 2_010, dur - 20, 10 * step + 2)
        for place, number in enumerate((10 * step + 2, 10 * step + 1)):
            _node(builder, at + 6_000 + 1_100 * place, number)
    return builder


def _layer(builder: TraceBuilder, at: float, dur: float, number: int) -> None:
    builder.op("aten::linear", at, dur, **{"Sequence number": number})
    if builder.device is not None:
        builder.launch(at + 5, kernel_start=at + 10, kernel_dur=dur - 20, name=MATRIX, op=None)


def _node(builder: TraceBuilder, at: float, number: int) -> None:
    builder.op("autograd::engine::evaluate_function: AddmmBackward0", at, 1_000, **{"Sequence number": number})
    if builder.device is not None:
        builder.launch(at + 5, kernel_start=at + 10, kernel_dur=900, name=MATRIX, op=None)


def test_the_call_and_its_backward_pass_are_saved() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 3_000_000
    assert found.finding.confidence is Confidence.HIGH
    assert "`net (Net)` is called once a step" in found.finding.why
    assert (found.finding.location.file, found.finding.location.line) == ("train.py", 12)


def test_of_the_call_to_keep_the_forward_pass_of_the_other_is_saved() -> None:
    assert judged(RULE, world(forward_only=True)).ns_per_step == 2_000_000


def test_on_a_device_kernels_are_counted() -> None:
    assert judged(RULE, world(device="cuda")).finding.saving.kernel_ns == STEPS * (1_960_000 + 900_000)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, State.FIRED),
        ({"told": False}, State.CANNOT_TELL),
        # Short calls, of which nobody knows what they take; those that are marked beside them are known.
        ({"marked": False, "dur": 100, "forward_only": True}, State.CANNOT_TELL),
        ({"marked": True, "dur": 100, "forward_only": True}, State.CLEAR),
        # Marks that nobody tells of are another's.
        ({"calls": 0}, State.CLEAR),
        ({"scope": IN_EACH_STEP}, State.FIRED),
        ({"scope": IN_EACH_EPOCH}, State.FIRED),
        ({"scope": IN_EACH_EPOCH, "random": True}, State.CLEAR),
        ({"scope": IN_EACH_EPOCH, "random": None}, State.CLEAR),
        # A thousand steps of ten samples: four passes, and one.
        ({"scope": IN_EACH_EPOCH, "length": 2_500}, State.FIRED),
        ({"scope": IN_EACH_EPOCH, "length": 10_000}, State.CLEAR),
        ({"dur": 201, "forward_only": True}, State.FIRED),
        ({"dur": 199, "forward_only": True}, State.CLEAR),
    ],
)
def test_when_it_fires(changes: dict[str, Any], state: State) -> None:
    assert run(RULE, world(**changes)).state is state


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (
            IN_STEP,
            "`net (Net)` is called 24 times a step with the very tensors of an earlier call in it: calls so short",
        ),
        (
            IN_EACH_EPOCH,
            "`net (Net)` is not trained and draws no random numbers: for a sample it gives the same in each epoch",
        ),
    ],
)
def test_why_calls_that_were_not_marked_are_known_is_said(scope: str, words: str) -> None:
    assert run(RULE, world(scope=scope, calls=24, marked=False, dur=100, forward_only=True)).reason.startswith(words)


def test_the_first_pass_over_the_data_is_left_over() -> None:
    found = judged(RULE, world(scope=IN_EACH_EPOCH, length=2_500))
    assert found.ns_per_step == pytest.approx(0.75 * 3_000_000, rel=1e-4)
    assert "That is 1.9 MiB for 2,500 samples." in found.finding.fix[0].note


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "output = model(x)"),
        ({"calls": 24}, "projected = self.project(x)"),
        ({"scope": IN_EACH_STEP}, "wanted = features(style)"),
        ({"scope": IN_EACH_EPOCH}, "kept = [(backbone(x).cpu(), y)"),
    ],
)
def test_the_fix_is_of_the_kind(changes: dict[str, Any], words: str) -> None:
    assert words in judged(RULE, world(**changes)).finding.fix[0].code


@pytest.mark.parametrize(("scope", "first"), [(IN_EACH_EPOCH, True), (IN_STEP, False)])
def test_a_reference_model_of_trl_is_run_in_advance_by_its_own_argument(scope: str, *, first: bool) -> None:
    builder = world(scope=scope)
    builder.top["advisor"]["frameworks"] = {"loop": ["transformers.trainer"], "data": ["trl.trainer.dpo_trainer"]}
    assert ("precompute_ref_log_probs=True" in judged(RULE, builder).finding.fix[0].code) is first


def test_samples_that_differ_are_said_to() -> None:
    said = run(RULE, world(scope=IN_EACH_EPOCH, random=True)).reason
    assert said == (
        "`net (Net)` is not trained, but samples may come out different in each epoch: what it computes is not known before"
    )
