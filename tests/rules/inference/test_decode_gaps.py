"""IN001: passes of 3 ms that add a token to each of eight texts, with idle time of the device between them."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from programs.generation import DECODING, generating
from rules.inference.decode_gaps import RULE
from running.one_rule import judged, run


def world(*, form: str = "vllm", gap: float = 1_000, passes: int = 8, prompt: int = 1_024) -> TraceBuilder:
    """A prompt, then so many tokens, each so many us behind the last; the host needs 100 us of it to launch."""
    return generating(form=form, gap=gap - 100, passes=passes, prompt=prompt)


@pytest.mark.parametrize("form", ["vllm", "sglang", "words", "functions", "shapes", "softmax"])
def test_gaps_between_tokens_are_claimed(form: str) -> None:
    found = judged(RULE, world(form=form))
    # Between eight passes lie seven gaps of 1 ms; that behind the prompt is none of them.
    assert found.finding.saving.claims.total_ns == 7_000_000
    assert "idles for 1.0 ms (median), beside 3.0 ms a pass" in found.finding.why
    assert "8 decode" in found.finding.why
    assert found.finding.confidence is Confidence.MEDIUM


def test_an_engine_hears_its_own_setting_and_a_loop_hears_of_reading_in_blocks() -> None:
    assert any("async_scheduling=True" in fix.code for fix in judged(RULE, world()).finding.fix)
    assert any("token.item()" in fix.code for fix in judged(RULE, world(form="shapes")).finding.fix)


@pytest.mark.parametrize(("gap", "state"), [(150, State.CLEAR), (250, State.FIRED)])
def test_boundary_of_the_share(gap: float, state: State) -> None:
    assert run(RULE, world(gap=gap)).state is state


@pytest.mark.parametrize(("passes", "state"), [(3, State.CANNOT_TELL), (4, State.FIRED)])
def test_boundary_of_the_pairs(passes: int, state: State) -> None:
    assert run(RULE, world(passes=passes, form="shapes")).state is state


def test_a_prompt_between_two_tokens_is_no_gap() -> None:
    """Requests of one token each: behind each comes the prompt of the next."""
    builder = TraceBuilder()
    for number in range(8):
        at = number * 4_000
        reads = number % 2 == 0
        builder.annotation(
            f"execute_context_{int(reads)}({512 * reads})_generation_{int(not reads)}({int(not reads)})", at, 60
        )
        builder.launch(at + 10, kernel_start=at + 100, kernel_dur=2_000)
    assert run(RULE, builder).state is State.CANNOT_TELL


@pytest.mark.parametrize("settings", [{"encodes": True}, {"trains": True}, {"form": "none"}])
def test_does_not_apply_to_what_generates_nothing(settings: dict[str, object]) -> None:
    assert run(RULE, generating(**{"form": "shapes", **settings})).state is State.NOT_APPLICABLE


def test_steps_told_by_kernels_alone_are_less_sure() -> None:
    builder = generating(form="kernels", attention=DECODING, prompt=0)
    for number in range(8):
        builder.step(number, number * 4_100, 4_000)
    assert judged(RULE, builder).finding.confidence is Confidence.LOW


@pytest.mark.parametrize(("stop", "state"), [(0, State.CLEAR), (400_000, State.CLEAR)])
def test_a_stop_of_the_whole_program_is_no_gap_between_tokens(stop: float, state: State) -> None:
    builder = TraceBuilder()
    at = 0.0
    for number in range(12):
        builder.annotation("execute_context_0(0)_generation_8(8)", at, 3_000)
        builder.launch(at + 20, kernel_start=at + 60, kernel_dur=2_990, op="aten::mm")
        at += 3_100 + (stop if number == 5 else 0)
    assert run(RULE, builder).state is state
