"""Two ranks started by torch.multiprocessing.spawn, with gloo."""

import os

import torch
import torch.distributed
import torch.multiprocessing
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def train(rank, world):
    torch.set_num_threads(1)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29731"
    torch.distributed.init_process_group("gloo", rank=rank, world_size=world)
    data = TensorDataset(torch.randn(64 * 60, 256), torch.randn(64 * 60, 1))
    model = DistributedDataParallel(
        torch.nn.Sequential(
            torch.nn.Linear(256, 2048),
            torch.nn.ReLU(),
            torch.nn.Linear(2048, 2048),
            torch.nn.ReLU(),
            torch.nn.Linear(2048, 1),
        )
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for inputs, targets in DataLoader(data, batch_size=64):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, args=(2,), nprocs=2)
