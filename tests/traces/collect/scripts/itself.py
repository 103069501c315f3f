import argparse
import inspect
import os
import sys
import warnings

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([weight], lr=0.1)


def train():
    for (batch,) in DataLoader(TensorDataset(torch.ones(64, 4)), batch_size=2, pin_memory=True):
        warnings.warn("once is enough", stacklevel=1)
        (batch * weight).sum().backward()
        optimizer.step()


print(argparse.ArgumentParser(prog="itself", description=__doc__).format_help())
print(__file__, __loader__.path, __spec__, sys.argv[0], sys.path[0])
os.chdir(os.path.dirname(os.path.dirname(__file__)))
print(inspect.getsource(train), inspect.getsource(sys.modules["__main__"])[:15])
train()
train()
raise ValueError("with its own line above")
