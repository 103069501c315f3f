"""IN005: calls of a model of 20 small ops, each with one sample."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from rules.inference.one_sample_calls import RULE
from running.one_rule import judged, run

CALL = 1_000


def world(*, single: int = 24, calls: int = 24, op: float = 10, told: Any = None, trains: bool = False) -> TraceBuilder:
    """Six calls of 1 ms.

    Args:
        single: Calls with one sample, as recorded.
        calls: Calls in all.
        op: How long each of the 20 ops takes, in us.
        told: What the recording says instead.
        trains: Whether an optimizer steps.
    """
    inputs = {"calls": calls, "single": single} if told is None else told
    builder = TraceBuilder(None, advisor={"forward_inputs": inputs, "steps": {"source": "forward"}})
    for number in range(6):
        at = number * CALL
        builder.step(number, at, CALL)
        for index in range(20):
            builder.op("aten::addmm", at + 45 * index, op)
        if trains:
            builder.optimizer(at + 950, 20)
    return builder


def test_names_the_line_that_calls_the_model_and_the_pipeline_where_there_is_one() -> None:
    builder = world()
    place = {"file": "embed.py", "line": 33, "function": "main", "begins": 28}
    builder.top["advisor"] |= {
        "lines": {"step_line": place}, "frameworks": {"imported": {"transformers": "5.0"}, "loop": [], "data": []},
    }  # fmt: skip
    found = judged(RULE, builder).finding
    assert found.location is not None
    assert (found.location.file, found.location.line) == ("embed.py", 33)
    assert "pipe(texts, batch_size=32)" in found.fix[0].code


def test_of_sentence_transformers_it_names_what_encodes() -> None:
    builder = world()
    used = {"imported": {"transformers": "5.0"}, "loop": ["sentence_transformers.sentence_transformer"], "data": []}
    builder.top["advisor"] |= {"frameworks": used}
    codes = [fix.code for fix in judged(RULE, builder).finding.fix]
    assert "model.encode(texts, batch_size=32)" in codes[0]
    assert not [code for code in codes if "pipe(" in code or "generate" in code]


@pytest.mark.parametrize("place", [[], {"file": "x.py"}, {"file": 1, "line": 2, "function": "f", "begins": 1}])
def test_nothing_is_believed_of_the_line(place: object) -> None:
    builder = world()
    builder.top["advisor"] |= {"lines": {"step_line": place}}
    assert judged(RULE, builder).finding.location is None


def test_fires_with_what_eight_samples_in_a_call_would_do_without() -> None:
    found = judged(RULE, world())
    assert found.ratio == pytest.approx(7 / 8, abs=0.02)
    assert "100 % of 24 calls of the model have one sample" in found.finding.why
    assert "torch.stack(samples[first : first + 32])" in found.finding.fix[0].code


@pytest.mark.parametrize(("single", "state"), [(22, State.FIRED), (21, State.CLEAR), (0, State.CLEAR)])
def test_boundary_of_the_calls(single: int, state: State) -> None:
    assert run(RULE, world(single=single)).state is state


def test_where_ops_are_long_a_batch_computes_as_much() -> None:
    result = run(RULE, world(op=45))
    assert result.state is State.CLEAR
    assert "a batch computes as much" in result.reason


def test_of_long_ops_among_many_short_ones_a_batch_computes_as_much_as_well() -> None:
    """Of a call of 1 ms a product takes 600 us, and twenty ops 200 us: the mean op is short, and most of the time it computes."""
    builder = world(op=10)
    for number in range(6):
        builder.op("aten::bmm", number * CALL, 600)
    for event in [event for event in builder.events if event["name"] == "aten::addmm"]:
        event["ts"] = event["ts"] // CALL * CALL + 600 + event["ts"] % CALL * 0.4
    found = judged(RULE, builder)
    assert found.ratio == pytest.approx(7 / 8 * 0.4, abs=0.02)
    assert "is 40 % of the time" in found.finding.why


@pytest.mark.parametrize(
    "options",
    [{"trains": True}, {"told": []}, {"told": {"calls": 3, "single": 4}}, {"told": {"calls": True, "single": "x"}}],
)
def test_not_applicable_to_training_or_without_knowing(options: dict[str, Any]) -> None:
    assert run(RULE, world(**options)).state is State.NOT_APPLICABLE
