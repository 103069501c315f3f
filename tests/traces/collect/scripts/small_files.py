"""No file may grow beyond a few kB, as on a disk that is almost full."""

import resource

import torch

torch.set_num_threads(1)
resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(60):
    weight.sum().backward()
    optimizer.step()
