"""Starts a profiler of its own while ours is on, and goes on stepping one that no longer records."""

import torch

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)


over = torch.profiler.profile(schedule=torch.profiler.schedule(wait=0, warmup=0, active=1, repeat=1))
over.start()


def train(steps):
    for _ in range(steps):
        weight.sum().backward()
        optimizer.step()
        over.step()


train(15)
with torch.profiler.profile() as profiler:
    train(5)
assert any(event.name.startswith("Optimizer.step") for event in profiler.events())
train(60)
