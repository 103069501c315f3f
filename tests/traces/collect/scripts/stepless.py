"""Works for a while without optimizer or loader; the profiler's first start alone takes 6 s, in which it imports much of torch."""

import time

import torch

torch.set_num_threads(1)
values = torch.ones(64, 64)
end = time.process_time() + 10
while time.process_time() < end:
    values = torch.tanh(values @ values)
