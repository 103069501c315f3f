"""A stream of text rows that is shuffled in a buffer: each row is parsed in Python."""

import random
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.set_num_threads(1)


class Rows(IterableDataset):
    def __init__(self, path, buffer):
        self.path, self.buffer = path, buffer

    def parse(self, line):
        values = [float(text) for text in line.split(",")]
        return torch.tensor(values[:-1]), torch.tensor(values[-1])

    def __iter__(self):
        held = []
        with open(self.path) as lines:
            for line in lines:
                if len(held) < self.buffer:
                    held.append(line)
                    continue
                place = random.randrange(self.buffer)
                held[place], line = line, held[place]
                yield self.parse(line)
        random.shuffle(held)
        for line in held:
            yield self.parse(line)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        row = ",".join(f"{random.random():.4f}" for _ in range(121))
        path.write_text("\n".join([row] * 6000) + "\n")
        loader = DataLoader(Rows(path, 1000), batch_size=64)
        model = nn.Sequential(nn.Linear(120, 64), nn.ReLU(), nn.Linear(64, 1))
        optimizer = torch.optim.Adam(model.parameters())
        for epoch in range(3):
            for x, y in loader:
                loss = nn.functional.mse_loss(model(x).squeeze(1), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(epoch, loss.item())


if __name__ == "__main__":
    main()
