"""IN003: passes of eight tokens whose time goes into products with weights: memory is the limit, and no batch is too large."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from programs.generation import ATTENTION, PRODUCT, VECTOR, generating
from rules.inference.weights_per_token import RULE
from running.one_rule import judged, run

OTHER = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>"


def world(
    *, form: str = "vllm", texts: int = 8, gap: float = 500, kernel: str = PRODUCT, attention: str = ATTENTION, part: float = 0.25,
    prompt_dur: float = 4_000,
) -> TraceBuilder:  # fmt: skip
    """A prompt and eight passes of 3 ms, so much of it attention."""
    return generating(
        form=form, texts=texts, gap=gap, kernel=kernel, attention=attention, attention_part=part, prompt_dur=prompt_dur
    )


def fixes(builder: TraceBuilder) -> str:
    return "\n".join(f"{fix.code} {fix.note}" for fix in judged(RULE, builder).finding.fix)


@pytest.mark.parametrize("form", ["vllm", "sglang", "shapes", "softmax"])
def test_it_is_told_without_a_saving(form: str) -> None:
    found = judged(RULE, world(form=form))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert (
        "75 % of that in products with weights: memory is the limit, as each weight that a pass uses is read once for 8 tokens"
        in found.finding.why
    )
    assert "4 bits" in fixes(world(form=form))


@pytest.mark.parametrize(("texts", "state"), [(46, State.FIRED), (47, State.CLEAR)])
def test_boundary_of_the_tokens(texts: int, state: State) -> None:
    assert run(RULE, world(texts=texts)).state is state


# Eight passes of 3 ms beside the prompt and what lies between.
@pytest.mark.parametrize(("gap", "state"), [(5_500, State.FIRED), (7_500, State.CLEAR)])
def test_boundary_of_the_share(gap: float, state: State) -> None:
    assert run(RULE, world(gap=gap)).state is state


@pytest.mark.parametrize(("part", "state"), [(0.52, State.FIRED), (0.48, State.CLEAR)])
def test_boundary_of_what_reads(part: float, state: State) -> None:
    assert run(RULE, world(kernel=OTHER, part=part)).state is state


def test_where_attention_is_most_of_it_the_cache_is_what_is_read() -> None:
    builder = world(part=0.8)
    assert "80 % of that in attention over the cache" in judged(RULE, builder).finding.why
    assert "kv_cache_dtype" in fixes(builder)
    assert "4 bits" not in fixes(builder)


def test_weights_of_four_bits_are_narrow_already() -> None:
    assert "4 bits" not in fixes(world(kernel="void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8, 4, 4>"))


def test_products_with_one_vector_say_how_few_tokens_there_are() -> None:
    assert run(RULE, world(form="words", texts=1, kernel=VECTOR)).state is State.FIRED
    assert run(RULE, world(form="words", texts=1)).state is State.CANNOT_TELL


@pytest.mark.parametrize("settings", [{"encodes": True}, {"trains": True}, {"encodes": True, "chooses": False}])
def test_does_not_apply_to_what_generates_nothing(settings: dict[str, object]) -> None:
    assert run(RULE, generating(form="shapes", **settings)).state is State.NOT_APPLICABLE
