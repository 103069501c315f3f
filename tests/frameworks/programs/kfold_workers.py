"""Five-fold cross validation: a model, an optimizer and two loaders with workers for each fold."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

torch.set_num_threads(1)


class Spectra(Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(1)
        self.rows = rng.normal(size=(n, 256)).astype(np.float32)
        self.labels = (self.rows[:, 0] > 0).astype(np.int64)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        return torch.from_numpy(row - row.mean()), self.labels[index]


def folds(n, k):
    order = np.random.default_rng(2).permutation(n)
    parts = np.array_split(order, k)
    for i in range(k):
        yield np.concatenate([part for j, part in enumerate(parts) if j != i]), parts[i]


def fit(data, train, test, epochs):
    model = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(Subset(data, train), batch_size=32, shuffle=True, num_workers=2)
    held_out = DataLoader(Subset(data, test), batch_size=64, num_workers=2)
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        right = 0
        with torch.no_grad():
            for x, y in held_out:
                right += (model(x).argmax(1) == y).sum().item()
    return right / len(test)


if __name__ == "__main__":
    data = Spectra(1000)
    scores = [fit(data, train, test, epochs=6) for train, test in folds(len(data), 5)]
    print(f"accuracy {np.mean(scores):.3f} +- {np.std(scores):.3f}")
