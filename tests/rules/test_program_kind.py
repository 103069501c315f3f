"""A program that only runs its model is told nothing of losses and gradients: each rule's own world without training."""

from __future__ import annotations

import re

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.facts.recording.engines import serving_engine
from analyzer.finding import Finding, State
from builders import TraceBuilder
from rules.changes import replay_as_graph
from rules.idle.advice import feed_faster
from scenarios import OF_RANKS, RULE_BY_CODE, SCENARIOS, world
from traces.reader.names.vocabulary import is_backward_node

OF_TRAINING = re.compile(
    r"\.backward\(|\bloss|optimizer|\bgradient|learning rate|train_step|DistributedDataParallel", re.IGNORECASE
)
# What they find is training; how a loop is recorded, and how batches are loaded, is the same with and without it.
TRAINS = frozenset({"CO005", "OP001", "OP002", "OP003", "OP004", "SY006"})
SAME_FOR_BOTH = ("PG", "DL", "ID004")
TRAINING = re.compile(r"Optimizer\.|DistributedDataParallel\.forward|.*(?:Backward|autograd::)")
ASKED = sorted(set(SCENARIOS) - OF_RANKS - TRAINS - {code for code in SCENARIOS if code.startswith(SAME_FOR_BOTH)})


def without_training(builder: TraceBuilder) -> TraceBuilder:
    """The same world without its optimizer, its backward pass and its wrapper for gradients; with an op, or nothing is known."""
    first = min(event["ts"] for event in builder.events)
    builder.events[:] = [
        event for event in builder.events if not TRAINING.match(event["name"]) and not is_backward_node(event["name"])
    ]
    builder.op("aten::linear", first, 1)
    return builder


def findings(code: str, builder: TraceBuilder) -> tuple[Finding, ...]:
    facts = Facts(builder.trace())
    assert facts.model.infers
    run = run_rules(facts, (RULE_BY_CODE[code],), grade(facts))[0]
    return run.findings if run.state is State.FIRED else ()


def said(found: Finding) -> str:
    advice = (text for one in found.fix for text in (one.code, one.note))
    return "\n".join((found.why, found.verify, *found.caveats, *advice))


@pytest.mark.parametrize("code", ASKED)
def test_no_words_of_training_for_a_program_that_only_runs(code: str) -> None:
    for found in findings(code, without_training(world(code))):
        assert OF_TRAINING.findall(said(found)) == []


def test_most_rules_were_asked() -> None:
    fired = {code for code in ASKED if findings(code, without_training(world(code)))}
    assert len(fired) >= len(ASKED) - 3, sorted(set(ASKED) - fired)


@pytest.mark.parametrize("code", ["PR001", "ME002", "SY001", "CP002"])
def test_training_is_told_of_training(code: str) -> None:
    builder = world(code)
    first, last = (pick(event["ts"] for event in builder.events) for pick in (min, max))
    builder.zero_grad((first + last) / 2, 1)
    run = run_rules(facts := Facts(builder.trace()), (RULE_BY_CODE[code],), grade(facts))[0]
    assert OF_TRAINING.search(said(run.findings[0]))


def _served(*names: str) -> Facts:
    builder = TraceBuilder().step(1, 0, 1_000)
    builder.op("aten::linear", 0, 10)
    for index, name in enumerate(names):
        builder.annotation(name, 20 + 10 * index, 5)
    return Facts(builder.trace())


@pytest.mark.parametrize(
    ("names", "engine", "words"),
    [
        (("execute_context_0(0)_generation_32(32)",), "vllm", "enforce_eager=False"),
        (("gpu_model_runner: forward",), "vllm", "enforce_eager=False"),
        (("sglang::fused_moe", "vllm::unified_attention"), "sglang", "cuda_graph_max_bs"),
        (("sampler",), None, "torch.compile(model"),
    ],
)
def test_an_engine_is_told_of_its_own_graphs(names: tuple[str, ...], engine: str | None, words: str) -> None:
    facts = _served(*names)
    assert serving_engine(facts.trace) == engine
    assert words in replay_as_graph(facts).code
    codes = " ".join(advice.code for advice in feed_faster(facts))
    assert ("make_graphed_callables" in codes) is (engine is None)


@pytest.mark.parametrize(
    ("name", "words"),
    [("indexSelectLargeIndex<1>", "SplitTableBatchedEmbeddingBagsCodegen"), ("radixSortKVInPlace<1>", "`torch.topk`")],
)
def test_only_programs_with_tables_get_a_fused_lookup(name: str, words: str) -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 1_000, 1_000)
        builder.launch(number * 1_000, kernel_start=number * 1_000 + 10, kernel_dur=900, name=name)
    assert words in said(findings("KE003", builder)[0])
