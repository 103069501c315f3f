"""IN004: prompts of 8 x 1,024 tokens that take most of the time: computing is their limit."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from programs.generation import generating
from rules.inference.prompt_reading import RULE
from running.one_rule import judged, run


def world(
    *, form: str = "vllm", prompt: int = 1_024, texts: int = 8, prompt_dur: float = 60_000, passes: int = 4
) -> TraceBuilder:
    """One prompt of so many us, then passes of 3 ms."""
    return generating(form=form, prompt=prompt, texts=texts, prompt_dur=prompt_dur, passes=passes, gap=100)


@pytest.mark.parametrize("form", ["vllm", "sglang", "shapes", "softmax"])
def test_it_is_told_without_a_saving(form: str) -> None:
    found = judged(RULE, world(form=form))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "8,192 tokens each (median): computing is their limit" in found.finding.why


@pytest.mark.parametrize(("prompt", "state"), [(512, State.FIRED), (511, State.CLEAR)])
def test_boundary_of_the_tokens(prompt: int, state: State) -> None:
    assert run(RULE, world(prompt=prompt, texts=1)).state is state


# Beside four passes of 3 ms.
@pytest.mark.parametrize(("prompt_dur", "state"), [(14_000, State.FIRED), (11_000, State.CLEAR)])
def test_boundary_of_the_share(prompt_dur: float, state: State) -> None:
    assert run(RULE, world(prompt_dur=prompt_dur)).state is state


def test_cannot_tell_how_long_prompts_are_by_a_word() -> None:
    assert run(RULE, world(form="words")).state is State.CANNOT_TELL


def test_an_encoder_reads_no_prompts() -> None:
    assert run(RULE, generating(form="shapes", encodes=True)).state is State.NOT_APPLICABLE
