"""Works for a while without optimizer or loader."""

import time

import torch

torch.set_num_threads(1)
values = torch.ones(64, 64)
end = time.monotonic() + 4
while time.monotonic() < end:
    values = torch.tanh(values @ values)
