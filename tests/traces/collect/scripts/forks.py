"""Trains in a child process; the argument says how it is started."""

import multiprocessing
import sys


def train():
    import torch

    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(60):
        weight.sum().backward()
        optimizer.step()


if __name__ == "__main__":
    child = multiprocessing.get_context(sys.argv[1]).Process(target=train)
    child.start()
    child.join()
