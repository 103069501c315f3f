"""Ranges that tile the recording only together: steps where one of them names a part of a loop, and all come again in one order."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder

TRAINING = ("forward", "backward", "opt")


def rounds(names: tuple[str, ...], *, count: int = 5, between: float = 0, loads: int = 0) -> TraceBuilder:
    """Rounds of ranges with an op in each, `between` rounds so much in no range, and so many calls of a loader in all."""
    builder = TraceBuilder(None)
    at = 0.0
    for number in range(count):
        if number < loads:
            builder.loader(at, 20)
        at += between
        for name in names:
            builder.annotation(name.format(number), at, 500)
            builder.op("aten::linear", at, 450)
            at += 500
        builder.op("aten::add", at, between * 0.9)
    return builder


def steps_of(builder: TraceBuilder) -> tuple[str, int]:
    steps = Facts(builder.trace()).steps
    return steps.source, len(steps.frame)


@pytest.mark.parametrize(
    "names",
    [
        TRAINING,
        ("fwd_pass", "bwd_pass", "weight_update"),
        ("load {0}", "compute {0}"),
        ("D_forward", "D_backward", "G_forward", "G_backward"),
        ("encoder", "decoder", "backward", "adam"),
    ],
)
def test_ranges_that_take_turns_are_steps_together(names: tuple[str, ...]) -> None:
    source, count = steps_of(rounds(names))
    assert source == f"inferred:annotation {' + '.join(name.replace('{0}', '#') for name in names).rstrip(' #')}"
    assert count == 5


@pytest.mark.parametrize(
    "names", [("attention", "mlp"), ("conv", "batch_norm", "relu"), ("rope", "cache_update"), ("left", "right")]
)
def test_parts_of_a_layer_that_take_turns_are_none(names: tuple[str, ...]) -> None:
    assert steps_of(rounds(names))[0] == "whole-trace"


def test_what_takes_turns_in_no_order_is_no_step() -> None:
    builder = TraceBuilder(None)
    for place, name in enumerate(("load", "compute", "load", "load", "compute", "compute", "load", "compute")):
        builder.annotation(name, place * 500, 500)
        builder.op("aten::linear", place * 500, 450)
    assert steps_of(builder)[0] == "whole-trace"


@pytest.mark.parametrize(("names", "found"), [(("model", "batches"), False), (("model", "update"), True)])
def test_ranges_that_leave_much_out_are_steps_only_where_one_ends_an_iteration(
    names: tuple[str, ...], *, found: bool
) -> None:
    assert (steps_of(rounds(names, between=800))[0] != "whole-trace") is found


def test_a_loader_that_is_asked_less_often_speaks_of_longer_steps() -> None:
    assert steps_of(rounds(("network", "backward", "opt"), count=6, loads=2))[0] == "whole-trace"


def test_a_round_begins_behind_the_update_wherever_the_recording_does() -> None:
    steps = Facts(rounds(("opt", "forward", "backward")).trace()).steps
    assert steps.source == "inferred:annotation forward + backward + opt"
    assert steps.frame["start_ns"].tolist()[:2] == [500_000, 2_000_000]


def test_a_guest_now_and_then_is_no_part_of_a_round() -> None:
    builder = rounds(TRAINING, count=6)
    builder.annotation("save", 9_000, 100)
    assert steps_of(builder)[1] == 6


def test_a_range_called_step_may_be_the_update_of_a_round() -> None:
    steps = Facts(rounds(("data", "forward", "backward", "step"), between=800).trace()).steps
    assert steps.source == "inferred:annotation data + forward + backward + step"
    assert len(steps.used) == 5


def test_a_range_around_the_others_is_the_step() -> None:
    builder = rounds(TRAINING)
    for number in range(5):
        builder.annotation("step", number * 1_500, 1_500)
    assert steps_of(builder) == ("inferred:annotation step", 5)
