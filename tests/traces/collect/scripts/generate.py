"""Calls a model again and again, and trains nothing."""

import pickle

import torch

torch.set_num_threads(1)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(256, 256)

    def forward(self, x):
        return torch.relu(self.inner(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(8))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


model = Model().eval()
x = torch.randn(64, 256)
with torch.no_grad():
    for number in range(4000):
        y = model(x)
        if number % 100 == 0:
            assert torch.equal(pickle.loads(pickle.dumps(model))(x), y)
