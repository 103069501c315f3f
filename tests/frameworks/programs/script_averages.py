"""A script without functions, as in tutorials: a moving average of the weights is kept by hand."""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
images = torch.randn(4096, 32)
labels = images[:, :8].argmax(1)
loader = DataLoader(TensorDataset(images, labels), batch_size=128, shuffle=True)
layers = []
for _ in range(12):
    layers += [nn.Linear(32, 32), nn.LayerNorm(32), nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(32, 8))
average = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(8):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, weight in zip(average.parameters(), model.parameters(), strict=True):
                kept.mul_(0.999)
                kept.add_(weight, alpha=0.001)
    print(epoch, loss.item())
