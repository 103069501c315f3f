"""A model called for the loss and again for the accuracy, on what a frozen one makes of each batch."""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
data = TensorDataset(torch.randn(6400, 256), torch.randint(0, 10, (6400,)))
frozen = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU()).requires_grad_(False)
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
correct = torch.tensor(0)
for _ in range(2):
    for inputs, labels in DataLoader(data, batch_size=128, shuffle=True):
        features = frozen(inputs)
        loss = torch.nn.functional.cross_entropy(model(features), labels)
        correct += (model(features).argmax(1) == labels).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
