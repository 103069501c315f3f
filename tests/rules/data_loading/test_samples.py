"""Samples kept in memory: the code that is advised runs, whatever a sample is, and makes the batches that the loader made."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import DataLoader

from building.builders import TraceBuilder
from rules.data_loading.single_process_loader import RULE
from rules.data_loading.small_samples import RULE as SMALL_SAMPLES
from running.one_rule import judged
from traces.collect.trace_advisor_hook.loader.batches import BatchLook
from traces.collect.trace_advisor_hook.run_description import describe_data

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


def of_ranks(loop: str = "", *, ranks: int | None = 2, op: str = "aten::linear") -> dict[str, str]:
    """The fixes of samples loaded one by one, by their first words, in a job of so many ranks."""
    imported = {"imported": {loop.split(".")[0]: None}, "loop": [loop], "data": []} if loop else {}
    known = {"length": COUNT, "sample_bytes": 12, "sample": {"form": "sequence", "parts": 2}, "random": False}
    advisor = {
        "usable_cores": 2,
        "batch_size": BATCH,
        "dataset": known | {"batch_kind": "tensors"},
        "frameworks": imported,
    }
    builder = TraceBuilder(None, advisor=advisor)
    if ranks is not None:
        builder.top["distributedInfo"] = {"rank": 0, "world_size": ranks}
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, 40_000, workers=0)
        builder.op("aten::linear", at + 40_000, 60_000)
    builder.op(op, 50_000, 1)
    return {one.code.split(" ")[0]: one.code for one in judged(SMALL_SAMPLES, builder).finding.fix}


@pytest.mark.parametrize(("op", "kept"), [("aten::linear", False), ("_C_cache_ops::reshape_and_cache", True)])
def test_answers_of_a_model_that_is_only_run_stay_in_the_order_of_the_samples(op: str, *, kept: bool) -> None:
    codes = "\n".join(of_ranks(ranks=None, op=op).values())
    assert ("randperm" in codes) is not kept
    assert ("RandomSampler" in codes) is not kept
    assert ("loader.batch_sampler" in codes) is kept
    # A loader leaves no sample out unless it is told to.
    assert "drop_last=True" not in codes


@pytest.mark.parametrize("ranks", [None, 2])
def test_each_rank_keeps_its_part_of_the_samples(ranks: int | None) -> None:
    part = list(range(1, COUNT, 2)) if ranks else list(range(COUNT))
    loader: DataLoader[Any] = DataLoader(PAIR, batch_size=BATCH, sampler=part)
    names = {"torch": torch, "dataset": PAIR, "batch_size": BATCH, "loader": loader}
    found = of_ranks(ranks=ranks)
    seen: list[int] = []
    names["seen"] = seen
    exec(f"{found['samples']}\n    seen.extend(batch[1].tolist())", names)
    assert sorted(seen) == part
    names = vars(torch.utils.data) | names
    kept, loads = found["class"].split("\n\n")
    exec(kept, names)
    names["dataset"] = names["InMemory"]()
    names["dataset"].data, names["dataset"].__class__.__len__ = (
        [torch.stack(TENSOR), torch.arange(COUNT)],
        lambda _: COUNT,
    )
    exec(loads, names)
    assert sorted(number for batch in names["loader"] for number in batch[1].tolist()) == part


def test_whole_batches_are_shared_out_by_accelerate() -> None:
    assert of_ranks("accelerate.optimizer")["class"].endswith("loader = accelerator.prepare(loader)")
    assert "accelerator" not in of_ranks()["class"]


@pytest.mark.parametrize(("ranks", "kept"), [(None, True), (2, False)])
def test_lightning_takes_the_sampler_of_batches_away_on_several_ranks(ranks: int | None, *, kept: bool) -> None:
    assert ("class" in of_ranks("lightning.pytorch", ranks=ranks)) is kept


@pytest.mark.parametrize(("size", "first"), [(None, "class"), (12, "samples")])
def test_a_stream_makes_its_batches_itself_unless_it_is_known_to_fit(size: int | None, first: str) -> None:
    """Nothing gives it indices: a sampler of batches has nothing to ask it for."""
    known = {"length": COUNT, "batch_kind": "tensors", "sample": {"form": "sequence", "parts": 2}, "random": False}
    known |= {} if size is None else {"sample_bytes": size}
    advisor = {"usable_cores": 2, "batch_size": BATCH, "dataset": known, "stream": {"splits": False}}
    builder = TraceBuilder(None, advisor=advisor)
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 1_000).loader(at, 400, workers=0)
        builder.op("aten::linear", at + 400, 600)
    fixes = judged(SMALL_SAMPLES, builder).finding.fix
    assert fixes[0].code.split(" ")[0] == first
    assert not any("BatchSampler" in one.code or "range(len(dataset))" in one.code for one in fixes)
    names: dict[str, Any] = {"torch": torch, **vars(torch.utils.data)}
    names["read"] = lambda _, rows: zip(torch.arange(COUNT).split(rows), torch.arange(COUNT).split(rows), strict=True)
    torch.utils.data.IterableDataset.path = ""  # type: ignore[attr-defined]
    try:
        exec(next(one.code for one in fixes if "class Batches" in one.code), names)
        assert [[len(column) for column in batch] for batch in names["loader"]] == [[BATCH, BATCH]] * 3
    finally:
        del torch.utils.data.IterableDataset.path  # type: ignore[attr-defined]
