"""An ordinary loop of as many steps as the first argument says; leaves with the status of the second."""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
steps = int(sys.argv[1])
data = TensorDataset(torch.randn(8 * steps, 20), torch.randint(0, 2, (8 * steps,)))
model = torch.nn.Linear(20, 2)
optimizer = torch.optim.Adam(model.parameters())
for inputs, labels in DataLoader(data, batch_size=8, shuffle=True):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
print("trained", steps, __name__, __file__.endswith("plain.py"), sys.argv[1:])
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
