"""IN002: graphs of 16 tokens replayed for eight; how many each computes shows in kernels with a block for each token."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from programs.generation import generating
from rules.inference.padded_replays import RULE
from running.one_rule import judged, run


def world(*, form: str = "vllm", captured: int = 16, texts: int = 8, gap: float = 500) -> TraceBuilder:
    """Eight passes of so many texts, each replayed from a graph of so many tokens."""
    return generating(form=form, captured=captured, texts=texts, gap=gap, prompt=0)


@pytest.mark.parametrize("form", ["vllm", "sglang"])
def test_padding_is_told_without_a_saving(form: str) -> None:
    found = judged(RULE, world(form=form))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "50 % is padding, most often 8 in the graph of 16" in found.finding.why
    said = {"vllm": "cudagraph_capture_sizes", "sglang": "cuda_graph_bs_decode"}[form]
    assert any(said in fix.code for fix in found.finding.fix)


# Of 16 tokens 4 or 5 are padding: 25 % is told, 24 % of 17 is not.
@pytest.mark.parametrize(
    ("captured", "texts", "state"), [(16, 12, State.FIRED), (17, 13, State.CLEAR), (8, 8, State.CLEAR)]
)
def test_boundary_of_the_padding(captured: int, texts: int, state: State) -> None:
    assert run(RULE, world(captured=captured, texts=texts)).state is state


# 3 ms of each pass, and what lies between.
@pytest.mark.parametrize(("gap", "state"), [(10_000, State.FIRED), (14_000, State.CLEAR)])
def test_boundary_of_the_share(gap: float, state: State) -> None:
    assert run(RULE, world(gap=gap)).state is state


def test_launched_one_by_one_nothing_is_padded() -> None:
    assert run(RULE, world(captured=0)).state is State.NOT_APPLICABLE


def test_cannot_tell_where_a_range_counts_requests_and_no_tokens() -> None:
    assert run(RULE, world(form="requests")).state is State.CANNOT_TELL


def test_cannot_tell_where_kernels_disagree() -> None:
    """Blocks of the other card make no whole number."""
    builder = world()
    for event in builder.events:
        if "blocks per SM" in event.get("args", {}):
            event["args"]["blocks per SM"] += 0.003
    assert run(RULE, builder).state is State.CANNOT_TELL
