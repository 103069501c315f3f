"""What the loops are made of: data, networks and the usual step."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, Sampler

FEATURES = 256
CLASSES = 10


class Samples(Dataset[Any]):
    """Random samples, with whatever has to be done to each."""

    def __init__(
        self, count: int, work: Callable[[Tensor, int], Tensor] | None = None, features: int = FEATURES
    ) -> None:
        generator = torch.Generator().manual_seed(0)
        self.inputs = torch.randn(count, features, generator=generator)
        self.labels = torch.randint(0, CLASSES, (count,), generator=generator)
        self.work = work

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int | slice) -> tuple[Tensor, Tensor]:
        inputs = self.inputs[index]
        return (self.work(inputs, index) if self.work is not None and isinstance(index, int) else inputs), self.labels[
            index
        ]


class Slices(Sampler[slice]):
    """Consecutive batches of data that is in random order already, without end: views, which cost nothing to make."""

    def __init__(self, count: int, batch: int) -> None:
        self.count = count
        self.batch = batch

    def __iter__(self) -> Iterator[slice]:
        for start in itertools.cycle(range(0, self.count - self.batch + 1, self.batch)):
            yield slice(start, start + self.batch)


def in_memory(batch: int, features: int = FEATURES, count: int = 4096, **options: Any) -> DataLoader[Any]:
    """The healthy loader: whole batches at once, and nothing to do for them."""
    return DataLoader(Samples(count, features=features), sampler=Slices(count, batch), batch_size=None, **options)


def forever(loader: DataLoader[Any]) -> Iterator[Any]:
    """Batches without end, epoch after epoch."""
    while True:
        yield from loader


def mlp(width: int = 256, depth: int = 2, features: int = FEATURES) -> nn.Sequential:
    """A plain network."""
    layers: list[nn.Module] = [nn.Linear(features, width), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, CLASSES))


def busy(seconds: float) -> None:
    """Use so much processor time in plain Python: as work would, it takes longer where the machine is shared."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Training:
    """A network with its optimizer; fused, so that the optimizer is not the bottleneck unless a preset wants it to be."""

    def __init__(self, model: nn.Module, device: torch.device, optimizer: torch.optim.Optimizer | None = None) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = model.to(device)
        self.optimizer = optimizer or torch.optim.SGD(self.model.parameters(), lr=0.01, fused=True)

    def step(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """The usual step, without a read of the loss."""
        inputs = inputs.to(self.device, non_blocking=True)
        labels = labels.to(self.device, non_blocking=True)
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        self.optimize(loss)
        return loss

    def optimize(self, loss: Tensor) -> None:
        """Backward, optimizer, and gradients let go."""
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
