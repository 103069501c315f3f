"""Uses torch, trains nothing."""

import torch

print(int(torch.arange(4).sum()))
