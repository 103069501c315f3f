"""The networks of the reference loop, each for images of 1x28x28 and 10 classes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from traces.collect.reference.glyphs import CLASSES, SIDE


class FeedForward(nn.Module):
    """784-128-64-10: so little work that loading and overhead are all there is to see."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(SIDE * SIDE, 128)
        self.fc2 = nn.Linear(128, 64)
        self.fc3 = nn.Linear(64, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """Scores (batch, 10) of images (batch, 1, 28, 28)."""
        hidden = torch.relu(self.fc1(images.view(-1, SIDE * SIDE)))
        hidden = torch.relu(self.fc2(hidden))
        scores: Tensor = self.fc3(hidden)
        return scores


class Convolutional(nn.Module):
    """Four convolutions, two poolings, one linear layer.

    Wide enough that on two cores a step computes six times as long as it loads: worker processes can
    then hide the loading.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.conv3 = nn.Conv2d(64, 64, 3, padding=1)
        self.conv4 = nn.Conv2d(64, 128, 3, padding=1)
        self.head = nn.Linear(128 * (SIDE // 4) ** 2, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """Scores (batch, 10) of images (batch, 1, 28, 28)."""
        maps = torch.max_pool2d(torch.relu(self.conv1(images)), 2)
        maps = torch.relu(self.conv2(maps))
        maps = torch.max_pool2d(torch.relu(self.conv3(maps)), 2)
        maps = torch.relu(self.conv4(maps))
        scores: Tensor = self.head(torch.flatten(maps, 1))
        return scores


def build_model(name: str) -> nn.Module:
    """The network called `name` in `CollectConfig`, with fresh weights from torch's own generator.

    Raises:
        KeyError: there is no such network.
    """
    builders: dict[str, Callable[[], nn.Module]] = {"mlp": FeedForward, "cnn": Convolutional, "resnet18": _resnet18}
    return builders[name]()


def _resnet18() -> nn.Module:
    """The ResNet-18 of torchvision with a first layer for small grey images, so that maps keep some size."""
    from torchvision.models import resnet18  # 1 s to import, for this model alone

    network: nn.Module = resnet18(num_classes=CLASSES)
    network.conv1 = nn.Conv2d(1, 64, kernel_size=3, stride=1, padding=1, bias=False)
    return network
