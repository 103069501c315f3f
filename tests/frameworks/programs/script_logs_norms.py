"""Eight small batches an update, and after each of them the norm of every gradient goes into a log file."""

import json
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
ACCUMULATE = 8
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 4)
head = nn.Linear(64, 5)
parameters = [*model.named_parameters(), *head.named_parameters()]
optimizer = torch.optim.AdamW([parameter for _, parameter in parameters], lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(1600, 16, 64), torch.arange(1600) % 5), batch_size=4, shuffle=True)
with tempfile.NamedTemporaryFile("w") as log:
    for epoch in range(2):
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(head(model(x).mean(1)), y) / ACCUMULATE
            loss.backward()
            row = {"loss": loss.item()}
            for name, parameter in parameters:
                row[name] = parameter.grad.norm().item()
            log.write(json.dumps(row) + "\n")
            log.flush()
            if (i + 1) % ACCUMULATE == 0:
                optimizer.step()
                optimizer.zero_grad()
        print(epoch, loss.item())
