"""Square products on one core; the first argument is how many steps."""

import sys

import torch

torch.set_num_threads(1)
layer = torch.nn.Linear(768, 768, bias=False)
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-6)
for _ in range(int(sys.argv[1])):
    optimizer.zero_grad()
    layer(torch.randn(768, 768)).sum().backward()
    optimizer.step()
