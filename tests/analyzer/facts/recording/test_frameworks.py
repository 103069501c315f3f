"""Which framework runs the loop and which makes the batches: as recorded; else as frames and ranges show."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts.recording.frameworks import Frameworks, frameworks
from building.builders import TraceBuilder


def told(**record: Any) -> Frameworks:
    advisor = {"frameworks": {"imported": {}, "loop": [], "data": []} | record}
    return frameworks(TraceBuilder(advisor=advisor).step(0, 0, 100).trace())


@pytest.mark.parametrize(
    ("loop", "framework"),
    [
        (["accelerate.optimizer", "transformers.trainer"], "transformers"),
        (["lightning.pytorch"], "lightning"),
        (["pytorch_lightning.loops"], "lightning"),
        (["lightning.fabric"], None),  # a loop of the program's own
        (["transformers.optimization"], None),
        (["trl.trainer", "transformers.trainer"], "transformers"),
        (["accelerate.optimizer"], "accelerate"),
        ([], None),
    ],
)
def test_the_outermost_framework_has_the_word(loop: list[str], framework: str | None) -> None:
    assert told(loop=loop).of_loop == framework


@pytest.mark.parametrize(
    ("loop", "data", "framework"),
    [
        ("transformers.trainer", ["sentence_transformers.sentence_transformer"], "sentence_transformers"),
        ("transformers.trainer", ["transformers.data"], "transformers"),
        # Its collator alone runs no trainer of theirs.
        ("lightning.pytorch", ["sentence_transformers.sentence_transformer"], "lightning"),
    ],
)
def test_a_trainer_that_inherits_its_loop_is_told_by_what_makes_its_batches(
    loop: str, data: list[str], framework: str
) -> None:
    assert told(loop=[loop], data=data).of_loop == framework


@pytest.mark.parametrize(
    ("data", "framework"), [(["torch_geometric.loader"], "torch_geometric"), (["monai.data"], "monai"), ([], None)]
)
def test_what_makes_the_batches(data: list[str], framework: str | None) -> None:
    assert told(data=data).of_data == framework


def test_what_is_imported_may_be_used_and_what_is_not_is_not() -> None:
    found = told(imported={"timm": "1.0.9"})
    assert found.may_use("timm")
    assert found.uses("timm")
    assert not found.may_use("deepspeed")


def test_without_a_record_anything_may_be_in_use() -> None:
    found = frameworks(TraceBuilder().step(0, 0, 100).trace())
    assert found.imported is None
    assert found.may_use("deepspeed")
    assert not found.uses("deepspeed")


@pytest.mark.parametrize(
    ("name", "framework"),
    [
        ("transformers/trainer.py(2181): _inner_training_loop", "transformers"),
        ("/opt/env/lib/python3.11/site-packages/lightning/pytorch/loops/fit_loop.py(12): run", "lightning"),
        ("transformers/models/bert/modeling_bert.py(30): forward", None),
        ("train.py(3): main", None),
    ],
)
def test_frames_tell_where_nothing_was_recorded(name: str, framework: str | None) -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.event(name, "python_function", 0, 90, args={"Python id": 1})
    assert frameworks(builder.trace()).of_loop == framework


@pytest.mark.parametrize(
    ("name", "framework"), [("[pl][profile]run_training_batch", "lightning"), ("run_training_batch", None)]
)
def test_ranges_of_lightning_tell_it(name: str, framework: str | None) -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.event(name, "user_annotation", 0, 90)
    assert frameworks(builder.trace()).of_loop == framework


@pytest.mark.parametrize("record", [3, {"loop": 3, "data": [4], "imported": []}])
def test_nothing_is_believed_about_the_shape(record: Any) -> None:
    found = frameworks(TraceBuilder(advisor={"frameworks": record}).step(0, 0, 100).trace())
    assert (found.of_loop, found.of_data) == (None, None)
