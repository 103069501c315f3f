"""torchvision v2 augments whole batches in the training loop, on the CPU."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.transforms import v2

torch.set_num_threads(1)


def main():
    augment = v2.Compose(
        [
            v2.RandomAffine(degrees=15, translate=(0.1, 0.1)),
            v2.ColorJitter(0.2, 0.2, 0.2, 0.1),
            v2.GaussianBlur(5),
            v2.RandomHorizontalFlip(),
        ]
    )
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(TensorDataset(torch.rand(640, 3, 64, 64), torch.arange(640) % 10), batch_size=16, shuffle=True)
    for epoch in range(2):
        for images, labels in loader:
            images = augment(images)
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
