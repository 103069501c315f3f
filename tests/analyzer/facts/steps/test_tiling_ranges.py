"""Ranges of the program's own: steps where they tile the recording, unless something speaks of larger ones."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder


def facts(builder: TraceBuilder) -> Facts:
    return Facts(builder.trace())


def ranges(name: str, *, count: int = 6, inside: float = 900, between: tuple[int, ...] = ()) -> TraceBuilder:
    """Ranges 1 ms apart with an op in each, and one between two of them where `between` names the first of the two."""
    builder = TraceBuilder(None)
    for number in range(count):
        at = number * 1_000
        builder.annotation(name.format(number), at, inside)
        builder.op("aten::linear", at, inside * 0.9)
        if number in between:
            builder.op("aten::embedding", at + inside, 1_000 - inside)
    return builder


NAMES = (
    "my_function",
    "iterate_all",
    "aten::step_size",
    "lr_scheduler_step",
    "run_batches",
    "round {0}",
    "one[x={0}]",
    "player_turn {0}",
)


@pytest.mark.parametrize("name", NAMES)
def test_ranges_that_tile_the_recording_are_steps_whatever_their_name(name: str) -> None:
    steps = facts(ranges(name)).steps
    assert steps.source.startswith("inferred:annotation")
    assert steps.frame["start_ns"].tolist() == [number * 1_000_000 for number in range(6)]


@pytest.mark.parametrize("name", NAMES)
def test_ranges_that_leave_much_of_the_recording_out_are_not(name: str) -> None:
    builder = ranges(name, inside=700)
    for number in range(6):
        builder.op("aten::add", number * 1_000 + 700, 300)
    assert facts(builder).steps.source == "whole-trace"


@pytest.mark.parametrize(
    "name", ["Stage::run", "Block.forward", "layer_{0}", "DecoderLayer", "micro_batch {0}", "model.layers.{0}"]
)
def test_parts_of_a_model_are_no_steps_even_where_they_tile_the_recording(name: str) -> None:
    assert facts(ranges(name)).steps.source == "whole-trace"


@pytest.mark.parametrize(("between", "found"), [((), True), ((0, 1, 2, 3, 4), True), ((2,), False), ((1, 3), False)])
def test_work_between_some_of_the_ranges_only_speaks_of_passes_around_them(
    between: tuple[int, ...], found: bool
) -> None:
    """Loading comes between any two iterations; what a pass does beside its layers comes between some."""
    assert (facts(ranges("part", between=between)).steps.source != "whole-trace") is found


@pytest.mark.parametrize(("name", "restarts", "found"), [("part {0}", True, False), ("part {0}", False, True)])
def test_numbers_that_begin_again_count_parts(name: str, restarts: bool, found: bool) -> None:
    builder = ranges(name)
    if restarts:
        for number, event in enumerate(event for event in builder.events if event["cat"] == "user_annotation"):
            event["name"] = f"part {number % 3}"
    assert (facts(builder).steps.source != "whole-trace") is found


@pytest.mark.parametrize(("holds", "found"), [(3, False), (6, True)])
def test_ranges_inside_a_range_of_the_same_program_are_its_parts(holds: int, found: bool) -> None:
    """One that holds all of them is around the loop."""
    builder = ranges("part")
    builder.annotation("larger", 0, holds * 1_000 - 50)
    assert (facts(builder).steps.source != "whole-trace") is found


@pytest.mark.parametrize(("loads", "found"), [(2, False), (0, True)])
def test_ranges_more_frequent_than_batches_are_parts(loads: int, found: bool) -> None:
    builder = ranges("part")
    for number in range(loads):
        builder.loader(number * 3_000 + 920, 50)
    assert (facts(builder).steps.source != "whole-trace") is found


def test_of_nested_ranges_that_tile_the_outer_ones_are_steps() -> None:
    builder = ranges("inner", count=12)
    for number in range(4):
        builder.annotation("outer", number * 3_000, 2_990)
    steps = facts(builder).steps
    assert steps.source == "inferred:annotation outer"
    assert len(steps.frame) == 4


@pytest.mark.parametrize(("name", "source"), [("val_step", "Optimizer.step"), ("train_step", "annotation train_step")])
def test_ranges_around_a_validation_after_the_training_do_not_hide_the_training(name: str, source: str) -> None:
    builder = TraceBuilder(None)
    for number in range(8):
        at = number * 10_000
        builder.op("aten::linear", at, 8_000)
        builder.optimizer(at + 8_000, 2_000)
        if name == "train_step":
            builder.annotation(name, at, 10_000)
    for number in range(3):
        at = 80_000 + number * 1_000
        builder.op("aten::linear", at, 900)
        if name == "val_step":
            builder.annotation(name, at, 900)
    assert facts(builder).steps.source == f"inferred:{source}"


@pytest.mark.parametrize(("overlap", "tiles"), [(0.0, True), (0.5, True), (5.0, False)])
def test_ranges_that_rounding_makes_overlap_are_steps_those_that_cross_are_none(overlap: float, tiles: bool) -> None:
    for name in ("my_function", "execute_context_1(2048)_generation_12(12)"):
        source = facts(ranges(name, inside=1_000 + overlap)).steps.source
        assert source.startswith("inferred:annotation") is tiles


@pytest.mark.parametrize(("name", "called"), [("code2wav", "code2wav"), ("round {0}", "round")])
def test_ranges_of_one_name_keep_the_numbers_in_it(name: str, called: str) -> None:
    assert facts(ranges(name)).steps.source == f"inferred:annotation {called}"
