"""Somebody presses Ctrl-C while steps are recorded."""

import os
import signal

import torch

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for number in range(200):
    weight.sum().backward()
    optimizer.step()
    if number == 16:
        os.kill(os.getpid(), signal.SIGINT)
