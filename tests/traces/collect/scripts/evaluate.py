"""No optimizer: batches are all there is to count."""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
model = torch.nn.Linear(4, 1)
with torch.no_grad():
    for (inputs,) in DataLoader(TensorDataset(torch.randn(400, 4)), batch_size=4, num_workers=1):
        model(inputs)
