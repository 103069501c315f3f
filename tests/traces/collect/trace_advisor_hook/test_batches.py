"""What a few batches tell of the data: kinds of batch, and samples that come out different each time."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import DataLoader, Dataset, Subset

from traces.collect.trace_advisor_hook.loader.batches import (
    BatchLook,
    draws,
    kind_of,
    masked_places,
    seeds,
)

VALUES = [torch.zeros(3) for _ in range(20)]


class Plain(Dataset[Any]):
    """The same samples in every epoch."""

    transform: Any = None

    def __getitem__(self, index: int) -> Any:
        return VALUES[index]

    def __len__(self) -> int:
        return len(VALUES)


class Cropped(Plain):
    """Draws with Python's own generator, which leaves no op in a trace."""

    def __getitem__(self, index: int) -> Any:
        return VALUES[index] * random.random()


class RandomCrop:
    """A transform by its name."""


class Compose:
    """Several transforms in a row."""

    def __init__(self, *transforms: Any) -> None:
        self.transforms = list(transforms)


def seen(loader: Any) -> BatchLook:
    look = BatchLook()
    batches = iter(loader)
    for _ in range(4):
        look.before(batches)
        look.after(next(batches))
    return look


@pytest.mark.parametrize(
    ("batch", "kind"),
    [
        (torch.zeros(2), "tensors"),
        ([torch.zeros(2), torch.zeros(2)], "tensors"),
        ({"image": torch.zeros(2)}, "mapping"),
        ([{"image": torch.zeros(2)}, {}], "mapping"),
        ([torch.zeros(2), ["a word", "another"]], "text"),
        (["a word"], "text"),
        ([torch.zeros(2), {"boxes": 3}], "objects"),
        (object(), "objects"),
        ([], "objects"),
    ],
)
def test_kinds_of_batch(batch: Any, kind: str) -> None:
    assert kind_of(batch) == kind


@pytest.mark.parametrize(("data", "drawn"), [(Plain(), False), (Cropped(), True)])
def test_a_generator_that_moves_tells_random_samples(data: Any, *, drawn: bool) -> None:
    loader = DataLoader(data, batch_size=2, shuffle=True)
    look = seen(loader)
    assert look.drawn is drawn
    assert draws(loader, look.drawn) is drawn


@pytest.mark.parametrize(("inside", "random_samples"), [(RandomCrop(), True), (Compose(), None)])
def test_workers_show_no_generator_but_transforms_have_names(inside: Any, random_samples: bool | None) -> None:
    data = Plain()
    data.transform = Compose(Compose(), inside)
    assert draws(DataLoader(Subset(data, range(4))), None) is random_samples


def test_a_data_set_that_seeds_each_sample_is_not_taken_to_be_random() -> None:
    class Seeded(Plain):
        def __getitem__(self, index: int) -> torch.Tensor:
            torch.manual_seed(index)
            return torch.randn(4)

    assert draws(DataLoader(Seeded()), None) is None
    assert (seeds(DataLoader(Subset(Seeded(), range(4)))), seeds(DataLoader(Cropped()))) == (True, False)


def test_what_the_data_set_calls_tells_too_where_workers_make_the_batches() -> None:
    assert draws(DataLoader(Cropped()), None) is True
    assert draws(DataLoader(Plain()), None) is None


def test_shuffling_alone_is_no_augmentation() -> None:
    """The first batch draws the order of the epoch; those after it draw nothing."""
    assert seen(DataLoader(Plain(), shuffle=True)).drawn is False


def test_the_draws_of_the_program_are_left_as_they_were() -> None:
    def run(look: BatchLook | None) -> list[float]:
        torch.manual_seed(1)
        random.seed(1)
        batches = iter(DataLoader(Cropped(), shuffle=True))
        found = []
        for _ in range(6):
            if look is not None:
                look.before(batches)
            found.append(float(next(batches).sum()))
            if look is not None:
                look.after(torch.zeros(1))
        return [*found, random.random(), float(torch.rand(1))]

    assert run(BatchLook()) == run(None)


def test_masks_of_the_first_batches_tell_how_much_is_padding() -> None:
    look = BatchLook()
    for left in (0, 1, 2, 3, 4, 4):
        look.after({"input_ids": torch.ones(1, 4), "attention_mask": torch.arange(4)[None] >= left})
    assert look.masked_ratio == 6 / 16
    # One text a batch: no other is longer.
    assert look.masked_beyond_ratio == 6 / 16
    assert (BatchLook().masked_ratio, BatchLook().masked_beyond_ratio) == (None, None)


def test_what_lies_beyond_the_longest_text_is_told_apart() -> None:
    look = BatchLook()
    look.after({"attention_mask": torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0]])})
    assert (look.masked_ratio, look.masked_beyond_ratio) == (0.5, 0.25)


@pytest.mark.parametrize(
    "batch",
    [
        torch.ones(2, 2),
        {"input_ids": torch.ones(2, 2)},
        {"attention_mask": torch.zeros(1, 1, 2, 2)},
        {"attention_mask": [[0, 1]]},
    ],
    ids=["a tensor", "no mask", "a mask of pairs", "lists"],
)
def test_other_batches_have_no_masked_places(batch: Any) -> None:
    assert masked_places(batch) == (0, 0, 0)
