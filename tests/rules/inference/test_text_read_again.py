"""IN006: text that grows by one token in each run of a model, all of which is computed again."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.inference.text_read_again import RULE
from running.one_rule import judged, run


def world(
    *,
    first: int = 20,
    grows: int = 1,
    token: float = 100,
    each: float = 1_000,
    cached: bool = False,
    shapes: bool = True,
    trains: bool = False,
    runs: int = 20,
    noise: float = 0,
) -> TraceBuilder:
    """Three steps, in each of which a text of `first` tokens is written on.

    Args:
        first: Tokens of the text as it is given.
        grows: Tokens that each run adds.
        token: What a token takes in a run, in us.
        each: What a run takes whatever it reads, in us.
        cached: Whether the layers compute the new token alone, beside a table of positions that grows.
        shapes: Whether shapes were recorded.
        trains: Whether an optimizer steps.
        runs: Runs of the model in a step.
        noise: What other programs add to every fourth run, in us.
    """
    builder = TraceBuilder(None)
    at = 0.0
    for number in range(3):
        begin = at
        for index in range(runs):
            tokens = first + grows * index
            rows = 2 * (1 if cached else tokens)
            looked = {"Input Dims": [[50_000, 64], [2, tokens], [], [], []]} if shapes else {}
            builder.op("aten::embedding", at, 10, **looked)
            dims = {"Input Dims": [[64], [rows, 64], [64, 64], [], []]} if shapes else {}
            taken = each + token * tokens + (noise if index % 4 == 0 else 0)
            builder.op("aten::addmm", at + 10, taken - 30, **dims)
            at += taken
        if trains:
            builder.optimizer(at - 5, 5)
        builder.step(number, begin, at - begin)
    return builder


def test_fires_with_what_tokens_take_that_were_read_before() -> None:
    found = judged(RULE, world(first=10))
    assert found.finding.confidence is Confidence.MEDIUM
    assert "10 to 28 tokens of a text are read in each of 57 runs" in found.finding.why
    # A run takes 1 ms, and 0.1 ms a token, of which one stays. The last run of a step is left out.
    assert found.usual_ns_per_step == pytest.approx(0.1e6 * sum(range(9, 28)), rel=0.02)


def test_a_text_that_hardly_grows_gives_half_of_the_bound_at_most() -> None:
    found = judged(RULE, world(first=200))
    assert found.finding.confidence is Confidence.LOW
    bound_us = sum((1_000 + 100 * tokens) * (1 - 1 / tokens) for tokens in range(200, 219))
    assert found.usual_ns_per_step == pytest.approx(bound_us * 1_000 / 2, rel=0.01)


def test_a_text_may_begin_with_nothing() -> None:
    assert run(RULE, world(first=1)).state is State.FIRED


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        # Positions grow beside a cache as well.
        ({"cached": True}, State.CLEAR),
        ({"grows": 0}, State.CLEAR),
        ({"grows": 2}, State.CLEAR),
        ({"runs": 6}, State.CLEAR),
        # What a run costs whatever it reads is all there is: launches of a short text.
        ({"token": 1}, State.CLEAR),
        ({"shapes": False}, State.CANNOT_TELL),
        ({"trains": True}, State.NOT_APPLICABLE),
    ],
)
def test_quiet(changes: dict[str, object], state: State) -> None:
    assert run(RULE, world(**changes)).state is state  # type: ignore[arg-type]


def test_runs_that_differ_by_more_than_tokens_add_tell_nothing() -> None:
    # A token adds nothing here, or what nobody sees beside runs that take twice as long.
    assert run(RULE, world(token=0)).state is State.CLEAR
    result = run(RULE, world(token=0, noise=1_000))
    assert result.state is State.CANNOT_TELL
    assert "runs differ by more than tokens add" in result.reason
    assert run(RULE, world(noise=1_000)).state is State.FIRED


def test_not_applicable_without_lookups() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * 1_000, 1_000)
        builder.op("aten::addmm", number * 1_000 + 10, 900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
