"""A classifier whose samples are read from text, one by one, in every epoch anew."""

import random

import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
random.seed(0)
LINES = [",".join(f"{random.random():.6f}" for _ in range(784)) for _ in range(1_600)]


class Digits(Dataset):
    def __len__(self):
        return len(LINES)

    def __getitem__(self, index):
        values = [float(word) for word in LINES[index].split(",")]
        return torch.tensor(values), index % 10


def main():
    model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    loader = DataLoader(Digits(), batch_size=32, shuffle=True)
    for epoch in range(40):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
        print(epoch, float(loss))
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
