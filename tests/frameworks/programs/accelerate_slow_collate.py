"""Accelerate's five changed lines around a plain loop; the collate function pads in Python."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def pad(samples):
    length = max(len(sample) for sample in samples)
    rows = []
    for sample in samples:
        row = [0.0] * length
        for place in range(len(sample)):
            row[place] = float(sample[place])
        rows.append(row)
    return torch.tensor(rows)[:, :64]


def main():
    torch.set_num_threads(1)
    data = [torch.randn(200 + number % 50) for number in range(1280)]
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(data, batch_size=16, shuffle=True, collate_fn=pad)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs in loader:
        optimizer.zero_grad()
        loss = model(inputs).square().mean()
        accelerator.backward(loss)
        optimizer.step()


if __name__ == "__main__":
    main()
