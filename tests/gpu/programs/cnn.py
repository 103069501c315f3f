"""A convolutional network in float32, its images loaded by two workers."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
batch = 256 if device.type == "cuda" else 16


def convolution(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)
    )


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        convolution(3, 64),
        convolution(64, 128),
        convolution(128, 256),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(256, 10),
    ).to(device)
    data = TensorDataset(torch.randn(batch * 64, 3, 32, 32), torch.randint(0, 10, (batch * 64,)))
    loader = DataLoader(
        data, batch_size=batch, shuffle=True, num_workers=2, pin_memory=device.type == "cuda", persistent_workers=True
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(3):
        for images, labels in loader:
            loss = nn.functional.cross_entropy(
                model(images.to(device, non_blocking=True)), labels.to(device, non_blocking=True)
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
