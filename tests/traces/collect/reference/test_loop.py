"""The loop without the profiler: it learns, and it stops where it is told."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torch

from traces.collect.reference.config import MODELS
from traces.collect.reference.loop import EpochLoss, Training, train
from traces.collect.reference.models import build_model


def _batches(count: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """One batch repeated: digit k is an image with pixel row k lit."""
    labels = torch.arange(10)
    images = torch.zeros(10, 1, 28, 28)
    images[labels, 0, labels] = 1.0
    return [(images, labels)] * count


@pytest.mark.parametrize("name", MODELS)
def test_every_model_scores_ten_classes(name: str) -> None:
    assert build_model(name)(torch.zeros(2, 1, 28, 28)).shape == (2, 10)


def test_the_loss_falls() -> None:
    torch.manual_seed(0)
    losses: list[EpochLoss] = []
    training = Training(build_model("mlp"), torch.device("cpu"), non_blocking=False)
    train(training, _batches(20), 60, lambda: None, losses.append)
    assert [loss.epoch for loss in losses] == [1, 2, 3]
    assert losses[0].average_loss > losses[1].average_loss > losses[2].average_loss


def test_the_last_epoch_may_be_cut_short() -> None:
    steps: list[int] = []
    losses: list[EpochLoss] = []
    training = Training(build_model("mlp"), torch.device("cpu"), non_blocking=False)
    train(training, _batches(4), 6, lambda: steps.append(1), losses.append)
    assert len(steps) == 6
    assert [loss.steps for loss in losses] == [4, 2]
