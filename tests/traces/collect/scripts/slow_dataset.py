"""A data set whose samples are made in one slow line of Python; workers as the first argument says."""

import sys

import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Slow(Dataset):
    def __len__(self):
        return 6000

    def __getitem__(self, index):
        total = 0
        total = sum(number % 7 for number in range(20_000))
        return torch.full((8,), float(total % 5))


if __name__ == "__main__":
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for inputs in DataLoader(Slow(), batch_size=4, num_workers=int(sys.argv[1])):
        optimizer.zero_grad()
        model(inputs).sum().backward()
        optimizer.step()
