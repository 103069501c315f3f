"""Two ranks over gloo with one thread each, and one thing wrong with rank 1: `program.py healthy|host|device|imbalance`."""

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

SLOW = 1
BATCHES = 60


class Rows(Dataset):
    """Rows that are there at once, or are summed up in Python first."""

    def __init__(self, batch: int, slow: bool) -> None:
        self.slow = slow
        self.batch = batch
        self.rows = torch.randn(64, 512)

    def __len__(self) -> int:
        return BATCHES * self.batch

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.slow:
            sum(number % 7 for number in range(12_000))
        return self.rows[index % 64]


def neighbour() -> int:
    """Another process that computes on this one's core: what a rank has then is half a core."""
    child = os.fork()
    if child == 0:
        while True:
            pass
    return child


def main(fault: str) -> None:
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    mine = fault if rank == SLOW else "healthy"
    child = neighbour() if mine == "device" else None
    try:
        dist.init_process_group("gloo")
        model = DistributedDataParallel(torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(6))))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        batch = 64 * (3 if mine == "imbalance" else 1)
        for rows in DataLoader(Rows(batch, mine == "host"), batch_size=batch):
            optimizer.zero_grad()
            model(rows).square().mean().backward()
            optimizer.step()
        dist.destroy_process_group()
    finally:
        if child is not None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


main(sys.argv[1])
