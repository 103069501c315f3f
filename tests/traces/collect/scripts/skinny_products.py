"""Products of which one side is four long, on one core; the first argument is how many steps."""

import sys

import torch

torch.set_num_threads(1)
layer = torch.nn.Linear(4096, 4, bias=False)
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-6)
for _ in range(int(sys.argv[1])):
    optimizer.zero_grad()
    layer(torch.randn(256, 4096)).sum().backward()
    optimizer.step()
