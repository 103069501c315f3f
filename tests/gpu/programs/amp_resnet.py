"""ResNet-18 in bfloat16 autocast, channels last, on images that are on the device already."""

import torch
import torchvision
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
batch, side = (128, 224) if device.type == "cuda" else (2, 64)


def main() -> None:
    torch.manual_seed(0)
    model = torchvision.models.resnet18(num_classes=100).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=True)
    images = torch.randn(batch, 3, side, side, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 100, (batch,), device=device)
    for _ in range(120 if device.type == "cuda" else 60):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
