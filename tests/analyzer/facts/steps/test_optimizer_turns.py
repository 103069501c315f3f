"""Unmarked loops of several optimizers: a step is the whole round of their turns."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import AUTOGRAD, TraceBuilder
from programs.updating import TURN, groups


def loop(
    pattern: str, *, names: str = "Adam Adam", told_by: str = "ops", loader: str = "", inner: bool = False
) -> TraceBuilder:
    """Updates of optimizers, one letter each: forward and backward work for a millisecond, then the optimizer's step.

    Args:
        pattern: Whose turn it is.
        names: The class of each.
        told_by: What differs from one to the next: the ops inside its step, the gradients before it, or nothing.
        loader: Before which letters the loader is asked for a batch.
        inner: Whether each step wraps another optimizer's.
    """
    builder = TraceBuilder()
    classes = names.split()
    for turn, letter in enumerate(pattern):
        at, which = turn * TURN, "AB".index(letter.upper())
        if letter in loader:
            builder.loader(at, 100)
        for index in range(5):
            start = at + 200 + index * 100
            builder.launch(start, kernel_start=start + 10, kernel_dur=90)
        for index in range(3 + 4 * which * (told_by == "gradients")):
            builder.op("torch::autograd::AccumulateGrad", at + 800 + index * 10, 5, thread=AUTOGRAD)
        builder.optimizer(at + 1_000, 500, name=classes[which])
        if inner:
            builder.optimizer(at + 1_010, 480, name="Wrapped")
        for index in range(3 + 4 * which * (told_by == "ops")):
            builder.op("aten::_foreach_add_", at + 1_060 + index * 20, 10)
    return builder


def turns(builder: TraceBuilder) -> list[float]:
    """How many turns each step holds; the first one lacks what is before the recording."""
    steps = Facts(builder.trace()).steps
    assert steps.source == "inferred:Optimizer.step"
    return [round(dur / TURN / 1_000) for dur in steps.frame["dur_ns"]]


@pytest.mark.parametrize("told_by", ["ops", "gradients"])
def test_two_optimizers_of_one_class_that_take_turns_are_one_step(told_by: str) -> None:
    assert turns(loop("AB" * 4, told_by=told_by)) == [2] * 4


def test_a_critic_with_five_updates_to_one_of_the_generator() -> None:
    assert turns(loop("AAAAAB" * 3)) == [6] * 3


def test_a_recording_that_begins_between_two_turns() -> None:
    assert turns(loop("AB" + "AAAAAB" * 3)) == [2, 6, 6, 6]


def test_one_more_update_now_and_then_is_part_of_its_round() -> None:
    assert turns(loop("AB" * 3 + "AAB" + "AB" * 3)) == [2, 2, 2, 3, 2, 2, 2]


def test_optimizers_of_two_classes() -> None:
    assert turns(loop("AB" * 4, names="Adam SGD")) == [2] * 4


def test_two_rounds_are_no_rhythm() -> None:
    assert Facts(loop("ABAB").trace()).steps.source == "whole-trace"


@pytest.mark.parametrize(
    ("made", "each"),
    [
        (loop("A" * 6), 6),
        (loop("A" * 6, inner=True), 6),
        (loop("AB" * 4, told_by="nothing"), 8),
        # Tasks that take turns have a batch each.
        (loop("AB" * 4, loader="AB"), 8),
        # Parameters that get a gradient by chance.
        (loop("ABBABAABBBAB"), 12),
        # A guest.
        (loop("A" * 9 + "B" + "A" * 9 + "B"), 20),
    ],
    ids=["one optimizer", "wrapped", "nothing tells them apart", "a batch each", "by chance", "guest"],
)
def test_each_update_is_a_step_where_none_take_turns(made: TraceBuilder, each: int) -> None:
    assert turns(made) == [1] * each


def test_a_batch_for_each_round_is_no_batch_for_each_update() -> None:
    assert turns(loop("aBaB" + "aBaB", loader="a")) == [2] * 4


def test_optimizers_of_groups_of_parameters_end_one_step() -> None:
    assert turns(groups()) == [1] * 5


def test_optimizers_with_gradients_of_their_own_end_a_step_each() -> None:
    assert len(turns(groups(between=True))) == 15


def test_without_gradients_in_the_trace_each_update_counts() -> None:
    assert len(turns(groups(nodes=False))) == 15


def test_updates_inside_the_backward_pass_end_no_step() -> None:
    assert "Optimizer.step" not in Facts(groups(inside=True).trace()).steps.source
