"""Runs a profiler of its own around the whole loop, and must find what it looks for."""

import torch

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
with torch.profiler.profile() as profiler:
    for _ in range(40):
        weight.sum().backward()
        optimizer.step()
assert any(event.name.startswith("Optimizer.step") for event in profiler.events())
