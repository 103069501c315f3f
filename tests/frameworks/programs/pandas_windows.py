"""Forecasts of a year of hourly load: each item is a window cut from a pandas frame and scaled there."""

import argparse

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Windows(Dataset):
    def __init__(self, frame, length, horizon):
        self.frame, self.length, self.horizon = frame, length, horizon

    def __len__(self):
        return len(self.frame) - self.length - self.horizon

    def __getitem__(self, index):
        past = self.frame.iloc[index : index + self.length]
        future = self.frame["load"].iloc[index + self.length : index + self.length + self.horizon]
        scaled = (past - past.mean()) / (past.std() + 1e-6)
        scaled["hour"] = past.index.hour / 23.0
        x = torch.tensor(scaled.to_numpy(), dtype=torch.float32)
        y = torch.tensor(((future - past["load"].mean()) / (past["load"].std() + 1e-6)).to_numpy(), dtype=torch.float32)
        return x, y


class Forecaster(nn.Module):
    def __init__(self, features, horizon):
        super().__init__()
        self.rnn = nn.GRU(features, 64, batch_first=True)
        self.head = nn.Linear(64, horizon)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()
    hours = pd.date_range("2024-01-01", periods=4000, freq="h")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4000, 4)), columns=["load", "wind", "sun", "price"], index=hours)
    loader = DataLoader(Windows(frame, 72, 12), batch_size=args.batch_size, shuffle=True)
    model = Forecaster(5, 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
