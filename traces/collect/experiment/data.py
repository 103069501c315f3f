"""The data of the reference loop, in the four forms that the methods load it in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler
from torchvision import datasets, transforms

from traces.collect.experiment.methods import Setup
from traces.collect.reference.data import DataSource

# Mean and deviation of MNIST's pixels.
MEAN, DEVIATION = 0.1307, 0.3081


class Stored(Dataset[Any]):
    """Images and labels in memory; an index may be a list of them."""

    def __init__(self, images: Tensor, labels: Tensor) -> None:
        self.images = images
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int | list[int]) -> tuple[Tensor, Tensor]:
        return self.images[index], self.labels[index]


def normalise(images: Tensor) -> Tensor:
    """Bytes (batch, 28, 28) to what the network takes (batch, 1, 28, 28)."""
    return ((images.float() / 255 - MEAN) / DEVIATION).unsqueeze(1)


def stored(source: DataSource, train: bool, as_bytes: bool) -> Stored:
    """The whole data set in memory, as bytes or ready for the network."""
    raw = datasets.MNIST(str(source.root), train=train, download=False)
    return Stored(raw.data if as_bytes else normalise(raw.data), raw.targets)


def build_loader(setup: Setup, source: DataSource, pin: bool) -> DataLoader[Any]:
    """The loader of a method."""
    options: dict[str, Any] = {
        "num_workers": setup.num_workers,
        "pin_memory": setup.pin_memory and pin,
        "prefetch_factor": setup.prefetch_factor,
        "persistent_workers": setup.persistent_workers,
    }
    if setup.data == "standard":
        transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((MEAN,), (DEVIATION,))])
        data: Dataset[Any] = datasets.MNIST(str(source.root), train=True, download=False, transform=transform)
        return DataLoader(data, batch_size=setup.batch_size, shuffle=True, **options)
    kept = stored(source, train=True, as_bytes=setup.data == "uint8")
    if setup.data == "offline":
        return DataLoader(kept, batch_size=setup.batch_size, shuffle=True, **options)
    batches = BatchSampler(RandomSampler(kept), setup.batch_size, drop_last=False)
    return DataLoader(kept, sampler=batches, batch_size=None, **options)


def test_batches(source: DataSource) -> Iterator[tuple[Tensor, Tensor]]:
    """The test images, in large batches."""
    kept = stored(source, train=False, as_bytes=False)
    return zip(torch.split(kept.images, 1000), torch.split(kept.labels, 1000), strict=True)
