"""Leaves in the middle of the recording: by os._exit, or by a signal to itself."""

import os
import signal
import sys

import torch

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(20):
    weight.sum().backward()
    optimizer.step()
if sys.argv[1] == "exit":
    os._exit(5)
os.kill(os.getpid(), signal.SIGKILL)
