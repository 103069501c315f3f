"""A network that solves an equation, fitted with LBFGS: one step evaluates its closure twenty times."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=20, history_size=10, line_search_fn="strong_wolfe")
points = torch.linspace(0, 3.14159, 2000)[:, None].requires_grad_()


def closure():
    optimizer.zero_grad()
    u = net(points)
    du = torch.autograd.grad(u.sum(), points, create_graph=True)[0]
    ddu = torch.autograd.grad(du.sum(), points, create_graph=True)[0]
    loss = ((ddu + torch.sin(points)) ** 2).mean() + u[0].pow(2).sum() + u[-1].pow(2).sum()
    loss.backward()
    return loss


for step in range(40):
    loss = optimizer.step(closure)
    if step % 10 == 0:
        print(step, loss.item())
