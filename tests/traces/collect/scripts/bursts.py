"""Reinforcement learning's shape: a rollout, then a burst of updates; a checkpoint every eight rounds."""

import os
import time

import torch

torch.set_num_threads(1)
model = torch.nn.Linear(20, 2)
optimizer = torch.optim.Adam(model.parameters())


def collect_rollout():
    with torch.no_grad():
        for _ in range(4):
            model(torch.randn(8, 20))
            time.sleep(0.05)


def update():
    optimizer.zero_grad()
    model(torch.randn(64, 20)).pow(2).mean().backward()
    optimizer.step()


def learn():
    for number in range(16):
        collect_rollout()
        for _ in range(12):
            update()
        if number % 8 == 7:
            torch.save(model.state_dict(), os.devnull)


learn()
