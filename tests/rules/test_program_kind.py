"""A program that only runs its model is told nothing of losses and gradients, one that may also train of both.

Each rule's own world without training, with a sign of serving and without one.
"""

from __future__ import annotations

import re

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.facts.recording.engines import serving_engine
from analyzer.finding import Finding, State
from building.builders import TraceBuilder
from known.scenarios import OF_RANKS, RULE_BY_CODE, SCENARIOS, world
from known.scenarios import tests_of as module_of
from rules.changes import replay_as_graph
from rules.idle.advice import feed_faster
from traces.reader.names.vocabulary import is_backward_node

OF_TRAINING = re.compile(
    r"\.backward\(|\bloss|optimizer|\bgradient|learning rate|train_step|DistributedDataParallel", re.IGNORECASE
)
# What they find is training, or what only it needs; how a loop is recorded, and how it loads, is the same without it.
TRAINS = frozenset({"CO005", "KE014", "OP001", "OP002", "OP003", "OP004", "OP005", "PY007", "PY008", "SY006", "IN007"})
SAME_FOR_BOTH = ("PG", "DL", "ID004")
TRAINING = re.compile(r"Optimizer\.|DistributedDataParallel\.forward|.*(?:Backward|autograd::)")
ASKED = sorted(set(SCENARIOS) - OF_RANKS - TRAINS - {code for code in SCENARIOS if code.startswith(SAME_FOR_BOTH)})


CACHE = "_C_cache_ops::reshape_and_cache"


def without_training(builder: TraceBuilder, op: str = CACHE) -> TraceBuilder:
    """The same world without its optimizer, its backward pass and its wrapper for gradients; with an op, or nothing is known."""
    first = min(event["ts"] for event in builder.events)
    builder.events[:] = [
        event for event in builder.events if not TRAINING.match(event["name"]) and not is_backward_node(event["name"])
    ]
    builder.op(op, first, 1)
    return builder


def findings(code: str, builder: TraceBuilder, *, may_train: bool = False) -> tuple[Finding, ...]:
    facts = Facts(builder.trace())
    assert facts.model.infers
    assert facts.model.may_train is may_train
    run = run_rules(facts, (RULE_BY_CODE[code],), grade(facts))[0]
    return run.findings if run.state is State.FIRED else ()


def said(found: Finding) -> str:
    advice = (text for one in found.fix for text in (one.code, one.note))
    return "\n".join((found.why, found.verify, *found.caveats, *advice))


@pytest.mark.parametrize("code", ASKED)
def test_no_words_of_training_for_a_program_that_only_runs(code: str) -> None:
    for found in findings(code, without_training(world(code))):
        assert OF_TRAINING.findall(said(found)) == []


def conditional(text: str) -> bool:
    """Whether a text says for which kind of program it is."""
    return "it trains" in text or "program trains" in text


# What generates text is no half of a training step: nothing is left open in their worlds.
@pytest.mark.parametrize("code", [code for code in ASKED if not code.startswith("IN")])
def test_forward_passes_alone_may_be_part_of_training(code: str) -> None:
    """Nothing shows training, and nothing serving: every word of training says that it is for a program that trains."""
    for found in findings(code, without_training(world(code), "aten::linear"), may_train=True):
        for text in (found.why, found.verify, *found.caveats):
            assert OF_TRAINING.findall(text) == []
        for advice in found.fix:
            text = f"{advice.code}\n{advice.note}"
            assert not OF_TRAINING.search(text) or conditional(advice.note), text


def preparing(code: str) -> TraceBuilder:
    """The world of a rule, for whose host code the program sends a batch: one that sends nothing prepares none."""
    return module_of(code).sending(world(code)) if code == "PY001" else world(code)


# Whose fixes differ by purpose: a change for the one would be wrong for the other.
@pytest.mark.parametrize("code", ["CO001", "CO004", "CP002", "ME002", "ME004", "PR001", "PY001"])
def test_both_readings_get_their_fix(code: str) -> None:
    (found, *_) = findings(code, without_training(preparing(code), "aten::linear"), may_train=True)
    (served, *_) = findings(code, without_training(preparing(code)))
    notes = [advice.note for advice in found.fix]
    assert any(conditional(note) for note in notes)
    assert any("only runs its model" in note for note in notes)
    assert {advice.code for advice in served.fix} < {advice.code for advice in found.fix}


@pytest.mark.parametrize(
    ("op", "kernel", "trains", "may_train"),
    [
        ("aten::linear", "ampere_sgemm_128x64_tn", False, True),
        ("vllm::unified_attention", "gemm", False, False),
        ("flash_attn::_flash_attn_with_kvcache", "gemm", False, False),
        ("quantized::linear_dynamic", "gemm", False, False),
        ("aten::linear", "void flashinfer::BatchDecodeWithPagedKVCacheKernel<2>(Params)", False, False),
        # A transposed convolution runs this in its forward pass.
        ("aten::conv_transpose2d", "xmma_dgrad_implicit_gemm_bf16", False, True),
        # Replayed from a graph, a training step leaves its kernels only.
        ("aten::copy_", "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<64>(Params)", True, False),
        ("aten::copy_", "cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816wgrad_optimized>", True, False),
        ("aten::copy_", "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<3>, FusedAdamMathFunctor<4>>", True, False),
    ],
)  # fmt: skip
def test_what_shows_training_and_what_shows_serving(op: str, kernel: str, trains: bool, may_train: bool) -> None:
    builder = TraceBuilder().step(1, 0, 1_000)
    call = builder.runtime("cudaGraphLaunch", 5, 10)
    builder.op(op, 0, 20)
    builder.kernel(kernel, 30, 900, correlation=call)
    facts = Facts(builder.trace())
    assert facts.recording.trains is trains
    assert facts.model.may_train is may_train


def test_an_optimizer_that_the_collector_saw_is_training() -> None:
    """The recorded steps are a validation pass of a program that trains."""
    plain, told = (
        Facts(builder.trace())
        for builder in (
            TraceBuilder(None).step(1, 0, 1_000),
            TraceBuilder(None, advisor={"model": {"parameters": 1_000}}).step(1, 0, 1_000),
        )
    )
    assert (plain.recording.trains, told.recording.trains) == (False, True)


def test_a_loop_that_generates_text_runs_its_model() -> None:
    builder = TraceBuilder().step(1, 0, 1_000)
    builder.op("aten::linear", 0, 20)
    assert Facts(builder.trace()).model.may_train
    builder.python("transformers/generation/utils.py(2215): generate", 0, 900)
    assert not Facts(builder.trace()).model.may_train


@pytest.mark.slow
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
        (("sglang::fused_moe", "vllm::unified_attention"), "sglang", "cuda_graph_max_bs_decode"),
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
    assert words in said(findings("KE003", builder, may_train=True)[0])
