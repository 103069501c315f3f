"""Two ranks that `accelerate launch` starts; each sample is decoded in Python."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 3200

    def __getitem__(self, index):
        values = [((index + 1) * k) % 97 / 97 for k in range(1500)]
        return torch.tensor(values), index % 2


accelerator = Accelerator(cpu=True)
model = torch.nn.Sequential(torch.nn.Linear(1500, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Slow(), batch_size=16, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for inputs, targets in loader:
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
accelerator.print("loss", loss.item(), accelerator.num_processes)
