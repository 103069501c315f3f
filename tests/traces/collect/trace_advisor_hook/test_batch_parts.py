"""Which part of making a batch takes the time: a slow sampler, a slow data set, a slow collate function, each timed as itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

from traces.collect.trace_advisor_hook.loader.batches import BatchLook
from traces.collect.trace_advisor_hook.loader.dataset_parts import stream_of

SLOW_S = 0.003


class Rows(Dataset[Any]):
    """Indexes a list, or takes its time for each sample."""

    def __init__(self, slow_s: float = 0) -> None:
        self.slow_s = slow_s

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.slow_s)
        return torch.zeros(2)


class Choice(Sampler[list[int]]):
    """Takes its time for each batch."""

    def __len__(self) -> int:
        return 10

    def __iter__(self) -> Iterator[list[int]]:
        for number in range(10):
            time.sleep(4 * SLOW_S)
            yield [4 * number + place for place in range(4)]


class Stream(IterableDataset[Any]):
    """Yields."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        for _ in range(40):
            time.sleep(SLOW_S)
            yield torch.zeros(2)


class Shared(Stream):
    """Yields its worker's part."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        worker = torch.utils.data.get_worker_info()
        yield from [torch.zeros(2)] * (1 if worker is None else worker.num_workers)


def slow_collate(rows: list[torch.Tensor]) -> torch.Tensor:
    time.sleep(4 * SLOW_S)
    return torch.stack(rows)


def leading(loader: DataLoader[Any]) -> str | None:
    """The part that takes most of the loader's batches, as the hook sees an epoch of it."""
    look = BatchLook()
    batches = iter(loader)
    batches._trace_advisor_loader = loader  # type: ignore[attr-defined]
    while True:
        look.before(batches)
        try:
            batch = next(batches)
        except StopIteration:
            break
        finally:
            look.parts.over()
        look.after(batch)
    for owner, name in ((batches, "_next_index"), (batches._dataset_fetcher, "fetch")):  # type: ignore[attr-defined]
        assert name not in vars(owner), "the iterator is left as it was"
    assert batches._dataset_fetcher.collate_fn is loader.collate_fn  # type: ignore[attr-defined]
    parts = look.parts.told(loader)
    assert look.parts.told(object()) is None
    return None if parts is None else max(parts, key=lambda name: parts[name])


@pytest.mark.parametrize(
    ("loader", "part"),
    [
        (DataLoader(Rows(SLOW_S), batch_size=4), "dataset"),
        (DataLoader(Stream(), batch_size=4), "dataset"),
        (DataLoader(Rows(), batch_size=4, collate_fn=slow_collate), "collate"),
        (DataLoader(Rows(), batch_sampler=Choice()), "sampler"),
    ],
    ids=["data set", "stream", "collate function", "sampler"],
)
def test_the_slow_part_leads(loader: DataLoader[Any], part: str) -> None:
    assert leading(loader) == part


def test_a_loader_that_is_none_of_torchs_is_not_timed() -> None:
    look = BatchLook()
    for _ in range(4):
        look.before(iter([]))
        look.after(torch.zeros(1))
    assert look.parts.told(None) is None


def test_who_shares_out_a_stream() -> None:
    assert stream_of(Rows()) is None
    assert stream_of(None) is None
    assert stream_of(Stream()) == {"splits": False}
    assert stream_of(Shared()) == {"splits": True}


def test_of_a_librarys_stream_nobody_knows() -> None:
    from torch.utils.data import ChainDataset

    assert stream_of(ChainDataset([])) == {"splits": None}
