"""A student learns from a larger teacher, which is in eval mode but builds its graph all the same."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


def network(width, depth):
    layers = [nn.Conv2d(3, width, 3, padding=1), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def main():
    teacher, student = network(48, 3).eval(), network(16, 2)
    loader = DataLoader(
        TensorDataset(torch.randn(1024, 3, 16, 16), torch.arange(1024) % 10), batch_size=16, shuffle=True
    )
    optimizer = torch.optim.SGD(student.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(3):
        for images, labels in loader:
            target = teacher(images).detach()
            logits = student(images)
            soft = F.kl_div(F.log_softmax(logits / 4, 1), F.softmax(target / 4, 1), reduction="batchmean") * 16
            loss = 0.7 * soft + 0.3 * F.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
