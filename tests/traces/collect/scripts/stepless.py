"""Works for a while without optimizer or loader."""

import time

import torch
import torch._dynamo
import torch._inductor.config  # what a profiler imports when it starts, which takes seconds

torch.set_num_threads(1)
values = torch.ones(64, 64)
end = time.process_time() + 4
while time.process_time() < end:
    values = torch.tanh(values @ values)
