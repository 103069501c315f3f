"""Samples kept in memory: the code that is advised runs, whatever a sample is, and makes the batches that the loader made."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import DataLoader

from builders import TraceBuilder
from rules.data_loading.single_process_loader import RULE
from traces.collect.trace_advisor_hook.loader.batches import BatchLook
from traces.collect.trace_advisor_hook.run_description import describe_data
from worlds import judged

COUNT, BATCH = 12, 4
TENSOR = [torch.full((3,), float(number)) for number in range(COUNT)]
PAIR = [(one, number) for number, one in enumerate(TENSOR)]
TRIPLE = [(one, one[:1], number) for number, one in enumerate(TENSOR)]
MAPPING = [{"ids": one, "label": number} for number, one in enumerate(TENSOR)]
NAMED = [{"ids": one, "text": str(number)} for number, one in enumerate(TENSOR)]


def joined(samples: list[Any]) -> Any:
    """A collation of the program's own."""
    return torch.cat([one for one, _ in samples]), [label for _, label in samples]


def advised(loader: DataLoader[Any], *, loop: str = "", recorded: bool = True) -> str:
    """The code that keeps samples, from what the hook says of a loader."""
    look = BatchLook()
    look.after(next(iter(loader)))
    known = describe_data(loader, look) | {"random": False} if recorded else {"length": COUNT, "sample_bytes": 12}
    imported = {"imported": {loop.split(".")[0]: None}, "loop": [loop], "data": []} if loop else {}
    builder = TraceBuilder(
        None, advisor={"usable_cores": 2, "batch_size": BATCH, "dataset": known, "frameworks": imported}
    )
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, 40_000, workers=0)
        builder.op("aten::linear", at + 40_000, 60_000)
    return next(one.code for one in judged(RULE, builder).finding.fix if "for index in range(len(dataset))" in one.code)


def _shape(batch: Any) -> Any:
    if isinstance(batch, dict):
        return {name: _shape(part) for name, part in batch.items()}
    return [_shape(part) for part in batch] if isinstance(batch, list | tuple) else getattr(batch, "shape", type(batch))


@pytest.mark.parametrize("dataset", [TENSOR, PAIR, TRIPLE, MAPPING], ids=["tensor", "pair", "triple", "mapping"])
def test_whole_batches_of_kept_samples_are_those_of_the_loader(dataset: list[Any]) -> None:
    loader: DataLoader[Any] = DataLoader(dataset, batch_size=BATCH)
    names = {"torch": torch, "dataset": dataset, "batch_size": BATCH}
    exec(advised(loader), names)
    assert _shape(names["batch"]) == _shape(next(iter(loader)))


@pytest.mark.parametrize(
    ("dataset", "collate"), [(PAIR, joined), (NAMED, None)], ids=["collation of its own", "texts in a mapping"]
)
def test_what_torch_does_not_put_together_stays_a_list_of_samples(dataset: list[Any], collate: Any) -> None:
    loader: DataLoader[Any] = DataLoader(dataset, batch_size=BATCH, collate_fn=collate)
    code = advised(loader).replace("samples, ...", f"samples, batch_size={BATCH}")
    names = {"torch": torch, "dataset": dataset, "loader": loader, "DataLoader": DataLoader}
    exec(code, names)
    assert _shape(next(iter(names["loader"]))) == _shape(next(iter(loader)))  # type: ignore[call-overload]


@pytest.mark.parametrize("dataset", [TENSOR, PAIR, MAPPING], ids=["tensor", "pair", "mapping"])
def test_a_framework_gets_samples_as_they_were(dataset: list[Any]) -> None:
    names: dict[str, Any] = {"torch": torch, "dataset": dataset}
    exec(advised(DataLoader(dataset, batch_size=BATCH), loop="lightning.pytorch"), names)
    assert _shape(names["dataset"]) == _shape(list(dataset))


def test_where_nobody_says_what_a_sample_is_all_are_told() -> None:
    code = advised(DataLoader(PAIR, batch_size=BATCH), recorded=False)
    assert all(word in code for word in ("data[index]", "for part in data]", "data.items()"))
    names = {"torch": torch, "dataset": PAIR, "batch_size": BATCH}
    exec(code, names)
