"""The reference loop with every remedy as an option."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from traces.collect.experiment.data import build_loader, normalise, test_batches
from traces.collect.experiment.methods import Setup
from traces.collect.reference.data import DataSource
from traces.collect.reference.loop import LEARNING_RATE
from traces.collect.reference.models import build_model
from traces.errors import UsageError

_WARM_UP_STEPS = 5


def choose_device(name: str) -> torch.device:
    """The device called auto, cpu or cuda.

    Raises:
        UsageError: There is no CUDA device.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda, but torch finds no CUDA device", fix="use --device auto")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


class Trainer:
    """One model in training, the way a method says."""

    def __init__(self, setup: Setup, model: str, device: torch.device, source: DataSource, seed: int) -> None:
        torch.manual_seed(seed)
        self.setup = setup
        self.device = device
        self.source = source
        self.loader = build_loader(setup, source, pin=device.type != "cpu")
        self.model = build_model(model).to(device).train()
        self.forward: Callable[[Tensor], Tensor] = torch.compile(self.model) if setup.compile else self.model
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE, fused=setup.fused or None)
        self.pending = 0

    def warm_up(self) -> None:
        """A few steps that hold the start-up costs, compilation among them."""
        self.steps(_WARM_UP_STEPS, lambda: None)
        self._synchronize()

    def epoch(self) -> float:
        """One pass over the data; returns the average loss."""
        losses = [self._step(*batch) for batch in self.loader]
        self._synchronize()
        return sum(losses) / len(losses)

    def steps(self, count: int, on_step: Callable[[], None]) -> None:
        """Train `count` steps, each followed by `on_step`."""
        done = 0
        while True:
            for batch in self.loader:
                self._step(*batch)
                on_step()
                done += 1
                if done == count:
                    return

    def accuracy(self, source: DataSource) -> float:
        """Share of the test images that are classified correctly."""
        self.model.eval()
        right = total = 0
        with torch.no_grad():
            for images, labels in test_batches(source):
                guesses = self.model(images.to(self.device)).argmax(1).cpu()
                right += int((guesses == labels).sum())
                total += len(labels)
        self.model.train()
        return right / total

    def _step(self, images: Tensor, labels: Tensor) -> float:
        images = images.to(self.device, non_blocking=self.setup.non_blocking)
        labels = labels.to(self.device, non_blocking=self.setup.non_blocking)
        if self.setup.data == "uint8":
            images = normalise(images)
        if self.pending == 0:
            self.optimizer.zero_grad(set_to_none=self.setup.set_to_none)
        loss = self._loss(images, labels)
        (loss / self.setup.accumulate).backward()
        self.pending = (self.pending + 1) % self.setup.accumulate
        if self.pending == 0:
            self.optimizer.step()
        return float(loss.item())

    def _loss(self, images: Tensor, labels: Tensor) -> Any:
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.setup.amp):
            return self.criterion(self.forward(images), labels)

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
