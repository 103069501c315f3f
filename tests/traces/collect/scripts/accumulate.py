"""Four batches to a step, and a second optimizer that steps with the first."""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
data = TensorDataset(torch.randn(800, 4), torch.randn(800, 1))
model, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
optimizers = [torch.optim.SGD(part.parameters(), lr=0.01) for part in (model, head)]
for number, (inputs, targets) in enumerate(DataLoader(data, batch_size=4)):
    torch.nn.functional.mse_loss(head(model(inputs)), targets).backward()
    if number % 4 == 3:
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
