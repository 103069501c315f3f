"""Passes that read prompts and passes that add a token, told apart in each of the ways in which traces tell them."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts import Facts
from analyzer.facts.recording.said_passes import said_pass, said_passes
from building.builders import TraceBuilder
from programs.generation import DECODING, PRODUCT, VECTOR, generating
from running.recorded import recorded, trace_of


def kinds(builder: TraceBuilder) -> list[str]:
    return Facts(builder.trace()).generation.found.passes["kind"].tolist()


@pytest.mark.parametrize("device", ["cuda", "rocm", None])
@pytest.mark.parametrize(
    "form", ["vllm", "requests", "sglang", "words", "phases", "functions", "shapes", "softmax", "lookup"]
)
def test_a_prompt_and_the_tokens_behind_it(form: str, device: str | None) -> None:
    assert kinds(generating(form=form, device=device)) == ["prefill"] + ["decode"] * 8


@pytest.mark.parametrize("form", ["vllm", "requests", "sglang", "shapes", "softmax"])
def test_tokens_of_a_prompt_that_was_not_recorded(form: str) -> None:
    assert kinds(generating(form=form, prompt=0, cached=100)) == ["decode"] * 8


@pytest.mark.parametrize(
    ("form", "tokens"), [("vllm", 8), ("sglang", 8), ("shapes", 8), ("softmax", 8), ("requests", None), ("words", None)]
)
def test_tokens_of_a_pass(form: str, tokens: int | None) -> None:
    found = Facts(generating(form=form).trace()).generation.found
    assert found.decode_tokens == tokens
    assert found.prefill_tokens == (8 * 1024 if tokens else None)


def test_kernels_that_only_decoding_has_tell_steps() -> None:
    builder = generating(form="kernels", attention=DECODING, prompt=0)
    for number in range(8):
        builder.step(number, number * 4_100, 4_000)
    found = Facts(builder.trace()).generation.found
    assert set(found.passes["kind"]) == {"decode"}
    assert found.source == "kernels that only decoding has"


@pytest.mark.parametrize("form", ["none", "modules"])
def test_products_of_one_row_tell_tokens_where_no_shape_was_recorded(form: str) -> None:
    """cuBLAS multiplies a vector by kernels of its own: only a text that one token is added to has nothing else."""
    found = Facts(generating(form=form, kernel=VECTOR, prompt=0).trace()).generation.found
    assert found.passes["kind"].tolist() == ["decode"] * 8
    assert found.source == "products of one row"


def chosen_by_rows(*attention: str) -> TraceBuilder:
    """A run of products of several rows but for the last, then eight of one row; each looks up, attends so, and chooses."""
    builder = TraceBuilder()
    for number in range(9):
        at = number * 10_000
        builder.op("aten::embedding", at, 5)
        for layer in range(4):
            name = PRODUCT if number == 0 else VECTOR
            builder.launch(at + 100 * layer + 10, kernel_start=at + 500 * layer + 100, kernel_dur=400, name=name)
        for place, op in enumerate(attention):
            builder.op(op, at + 450 + 10 * place, 8)
        builder.launch(at + 500, kernel_start=at + 2_200, kernel_dur=300, name=VECTOR)
        builder.op("aten::argmax", at + 600, 5)
    return builder


@pytest.mark.parametrize(
    "attention", [("aten::scaled_dot_product_attention",), ("aten::bmm", "aten::_softmax", "aten::bmm")]
)
def test_the_head_of_a_prompt_multiplies_one_row_too(attention: tuple[str, ...]) -> None:
    assert kinds(chosen_by_rows(*attention)) == ["unknown"] + ["decode"] * 8


@pytest.mark.parametrize("others", [(), ("aten::_softmax",), ("aten::bmm",)])
def test_a_policy_that_chooses_an_action_makes_no_text(others: tuple[str, ...]) -> None:
    assert not Facts(chosen_by_rows(*others).trace()).generation.found.known


def test_shapes_that_say_more_count_more_than_products_of_one_row() -> None:
    assert "decode" not in kinds(generating(form="shapes", kernel=VECTOR, encodes=True))


@pytest.mark.parametrize(
    "settings",
    [
        {"form": "shapes", "trains": True},
        {"form": "vllm", "trains": True},
        # An encoder reads all its tokens in each pass.
        {"form": "shapes", "encodes": True},
        # Diffusion chooses no token, and nothing is looked up for one.
        {"form": "shapes", "encodes": True, "chooses": False},
        # Neither range nor shape nor kernel: a model that chooses tokens, and that is all.
        {"form": "none"},
        {"form": "modules"},
    ],
    ids=str,
)
def test_what_cannot_be_told_is_not_said(settings: dict[str, Any]) -> None:
    found = Facts(generating(**settings).trace()).generation.found
    assert not found.known
    assert found.reason


def test_a_decode_without_a_prefill_is_an_image() -> None:
    builder = TraceBuilder()
    for number in range(5):
        builder.annotation("decode", number * 1_000, 500)
        builder.launch(number * 1_000, kernel_start=number * 1_000 + 50, kernel_dur=400)
    assert not Facts(builder.trace()).generation.found.known


@pytest.mark.parametrize(
    ("name", "kind", "sequences", "tokens"),
    [
        ("execute_context_2(300)_generation_0(0)", "prefill", 2, 300),
        ("execute_context_1(128)_generation_30(30)", "mixed", 31, 158),
        ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", "decode", 32, 32),
        ("execute_new_0_cached_5", "decode", 5, None),
        ("step[DECODE bs=16]", "decode", 16, 16),
        ("step[EXTEND bs=2 toks=4096]", "prefill", 2, 4096),
        ("step[MIXED bs=2]", "mixed", 2, None),
        ("prefill[bs=2 tok=16384]", "prefill", 2, 16384),
        ("decode step 12", "decode", None, None),
        ("model.generate: prefill", "prefill", None, None),
        ("generate.py(78): decode_one_token", "decode", None, None),
    ],
)
def test_names(name: str, kind: str, sequences: int | None, tokens: int | None) -> None:
    found = said_pass(name)
    assert found is not None
    assert (found.kind, found.sequences, found.tokens) == (kind, sequences, tokens)


@pytest.mark.parametrize(
    "name",
    [
        "step[IDLE bs=0]", "execute_context_0(0)_generation_0(0)", "decode_image", "vae decoder", "predecode", "forward", "step 3",
        "tokenization_utils_base.py(3900): decode", "json/decoder.py(340): raw_decode", "backend.py(12): forward_decode",
    ],
)  # fmt: skip
def test_names_that_say_nothing(name: str) -> None:
    assert said_pass(name) is None


def test_a_word_needs_the_other() -> None:
    assert said_passes(["decode", "forward"]) == {}
    assert set(said_passes(["decode", "prefill", "forward"])) == {"decode", "prefill"}


def test_generated_text_is_no_training() -> None:
    """Shapes alone tell it: words for training would not fit."""
    assert not Facts(generating(form="shapes").trace()).model.may_train
    assert Facts(generating(form="shapes", encodes=True).trace()).model.may_train


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.name)
def test_of_recorded_traces_only_the_engine_that_decodes_generates(path: Any) -> None:
    found = Facts(trace_of(path)).generation.found
    assert found.known == ("vllm_decode" in path.name)
    if found.known:
        assert found.passes[["kind", "sequences", "tokens"]].to_numpy().tolist() == [["decode", 32.0, 32.0]]
