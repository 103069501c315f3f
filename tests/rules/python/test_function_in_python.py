"""PY008: a function of autograd and its backward pass take 3 of 10 ms, beside the ops that they call."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules import RULES
from rules.python.function_in_python import RULE
from running.one_rule import judged, run

STEP = 10_000


def world(
    *,
    name: str = "SoftDTW",
    node: str = "SoftDTWBackward",
    own: float = 1_500,
    called: float = 500,
    device: str | None = None,
    lacked: float | None = None,
) -> TraceBuilder:
    """Steps of 10 ms: the function's call and its node take `own` each beside an op inside, and other ops the rest.

    Args:
        name: The function's.
        node: Its node's.
        own: Microseconds in no op.
        called: In the op.
        device: Of the trace.
        lacked: Share of the steps without a core, as the collector saw it.
    """
    builder = TraceBuilder(device, advisor=None if lacked is None else {"core_wait_ratio": lacked})
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for place, span in ((0, name), (5_000, node)):
            builder.op(span, at + place, own + called)
            builder.op("aten::mul", at + place + 1, called)
            builder.op("aten::linear", at + place + own + called, 4_995 - own - called)
        if device is not None:
            builder.launch(at + 3_000, kernel_start=at + 3_005, kernel_dur=1_000, op=None)
    return builder


def test_names_the_function_and_claims_no_saving() -> None:
    found = judged(RULE, world()).finding
    assert (
        "`SoftDTW`, a `torch.autograd.Function`, and its backward pass take 3.0 ms of each 10 ms step (30 %)"
        in found.why
    )
    assert "which the trace does not tell apart" in found.why
    assert (found.saving.total_ns, found.confidence) == (0, Confidence.MEDIUM)
    assert "--stacks" in found.fix[0].code
    assert "numba" in found.fix[-1].code


@pytest.mark.parametrize(
    ("how", "state"),
    [
        # An op of torch has a node with a number; compiled code is no Python; and on a device another rule names it.
        ({"node": "SoftDTWBackward0"}, State.NOT_APPLICABLE),
        ({"name": "CompiledFunction", "node": "CompiledFunctionBackward"}, State.NOT_APPLICABLE),
        ({"device": "cuda"}, State.NOT_APPLICABLE),
        # What it calls is told of by the ops' own rules.
        ({"own": 300, "called": 2_000}, State.CLEAR),
        ({"lacked": 0.15}, State.FIRED),
        ({"lacked": 0.25}, State.CANNOT_TELL),
    ],
)
def test_only_what_is_in_no_op_counts(how: dict[str, Any], state: State) -> None:
    assert run(RULE, world(**how)).state is state


@pytest.mark.parametrize(("own", "state"), [(490, State.CLEAR), (510, State.FIRED)])
def test_boundary(own: float, state: State) -> None:
    assert run(RULE, world(own=own)).state is state


@pytest.mark.parametrize(
    ("backward", "words"),
    [("loss.py(12): align", "most of it in `align`"), ("loss.py(30): undo", "the largest part in `align`")],
)
def test_stacks_name_the_place(backward: str, words: str) -> None:
    builder = world()
    for number in range(3):
        at = number * STEP
        builder.python("train.py(1): main", at, STEP)
        builder.python("loss.py(12): align", at + 502, 1_498)
        builder.python("<built-in method dot of numpy.ndarray object at 0x7f>", at + 503, 1_490)
        builder.python(backward, at + 5_502, 1_000)
    finding = judged(RULE, builder).finding
    assert f"{words} (loss.py, from line 12)" in finding.why
    assert "does not tell apart" not in finding.why
    assert finding.location is not None
    assert not any("--stacks" in advice.code for advice in finding.fix)


def test_it_is_a_note_beside_the_verdict_that_names_it() -> None:
    facts = Facts(world().trace())
    analysis = explain_facts(facts, rules=RULES).analysis
    assert "`SoftDTW`" in analysis.summary.verdict.text
    assert "PY008" in {finding.rule for finding in analysis.findings}
    assert all(run.state is not State.CRASHED for run in run_rules(facts, RULES, grade(facts)))
