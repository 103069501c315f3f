"""DL009: a batch of four samples of 10 to 40 tokens, padded to 40, in steps that compute for 60 of 100 ms."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.facts import Facts
from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.data_loading.padded_batches import RULE
from running.one_rule import judged, run

LENGTHS = (10, 20, 30, 40)


def world(
    *, lengths: Sequence[int] = LENGTHS, tokens: Sequence[int] = (160,) * 4, pads: bool = True, shapes: bool = True
) -> TraceBuilder:
    """Four steps.

    Args:
        lengths: Of the samples of each batch.
        tokens: What the embedding of each step gets.
        pads: Whether batches are padded in this process.
        shapes: Whether shapes were recorded.
    """
    builder = TraceBuilder()
    for number, size in enumerate(tokens):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        known = {"Input Dims": [[[length, 8] for length in lengths], [], []]} if shapes else {}
        if pads:
            builder.op("aten::pad_sequence", at + 10, 50, **known)
        looked_up = {"Input Dims": [[1000, 64], [4, size // 4], []]} if shapes else {}
        builder.op("aten::embedding", at + 100, 50, **looked_up)
        builder.launch(at + 200, kernel_start=at + 300, kernel_dur=60_000)
    return builder


def test_fires_with_the_padded_share_of_computing():
    found = judged(RULE, world())
    assert found.finding.saving.kernel_ns == int(4 * 60_000_000 * 0.375)
    assert found.finding.why.startswith("38 % of 4 padded batches is padding")


@pytest.mark.parametrize(("lengths", "state"), [((59, 100), State.FIRED), ((61, 100), State.CLEAR)])
def test_boundary_of_padding(lengths, state):
    # 20 % of 200 elements are 40.
    assert run(RULE, world(lengths=lengths)).state is state


def test_lengths_that_lie_apart_are_told_without_a_saving():
    found = judged(RULE, world(tokens=(160, 160, 80, 40), pads=False))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "40 to 160 tokens, 75 % apart" in found.finding.why


@pytest.mark.parametrize(("least", "state"), [(120, State.FIRED), (124, State.CLEAR)])
def test_boundary_of_lengths(least, state):
    assert run(RULE, world(tokens=(160, 160, 160, least), pads=False)).state is state


def test_cannot_tell_without_shapes():
    assert run(RULE, world(shapes=False)).state is State.CANNOT_TELL


@pytest.mark.parametrize(
    "dims", [[[]], [[[4], [-2]]], [[[4, 2]]], ["x"], [[["y"]]], [[], [], []], [[[0, 4], [0, 4]], []]]
)
def test_shapes_that_tell_no_lengths(dims):
    builder = world(pads=False)
    builder.op("aten::pad_sequence", 10, 50, **{"Input Dims": dims})
    builder.op("aten::embedding", 90, 5, **{"Input Dims": dims})
    assert Facts(builder.trace()).input.padding.padding_ratio is None
