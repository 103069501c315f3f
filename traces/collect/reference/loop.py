"""The reference training loop, as people write it: nothing in it knows about the profiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

LEARNING_RATE = 0.001


@dataclass(frozen=True)
class EpochLoss:
    """What one pass over the data came to.

    Attributes:
        epoch: counted from 1.
        average_loss: mean over the steps of the epoch of each batch's mean loss.
        steps: how many steps it had; fewer than the data set has batches when training ended early.
    """

    epoch: int
    average_loss: float
    steps: int


class Training:
    """A model with its optimizer, on its device."""

    def __init__(self, model: nn.Module, device: torch.device, non_blocking: bool) -> None:
        self.model = model.to(device).train()
        self.device = device
        self.non_blocking = non_blocking
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE)

    def step(self, images: Tensor, labels: Tensor) -> float:
        """Train on one batch; the loss is read back, which waits for the device."""
        images = images.to(self.device, non_blocking=self.non_blocking)
        labels = labels.to(self.device, non_blocking=self.non_blocking)
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        return float(loss.item())


def train(
    training: Training,
    loader: Iterable[tuple[Tensor, Tensor]],
    steps: int,
    on_step: Callable[[], None],
    on_epoch: Callable[[EpochLoss], None],
) -> None:
    """Train for `steps` steps, in as many passes over `loader` as that takes.

    Args:
        training: what to train.
        loader: batches of images and labels; must not be empty.
        steps: how many steps in all.
        on_step: called after each step.
        on_epoch: called after each pass, the last one cut short included.
    """
    done = 0
    epoch = 0
    while done < steps:
        epoch += 1
        loss_sum = 0.0
        first = done
        for images, labels in loader:
            loss_sum += training.step(images, labels)
            done += 1
            on_step()
            if done == steps:
                break
        on_epoch(EpochLoss(epoch, loss_sum / (done - first), done - first))
