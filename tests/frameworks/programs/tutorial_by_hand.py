"""The well-known tutorial that fits a polynomial to a sine: no optimizer, no loader, weights changed by hand."""

import math

import torch

torch.set_num_threads(1)
x = torch.linspace(-math.pi, math.pi, 2000)
y = torch.sin(x)
a, b, c, d = (torch.randn((), requires_grad=True) for _ in range(4))
learning_rate = 1e-6
for t in range(6000):
    y_pred = a + b * x + c * x**2 + d * x**3
    loss = (y_pred - y).pow(2).sum()
    if t % 100 == 99:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        for weight in (a, b, c, d):
            weight -= learning_rate * weight.grad
            weight.grad = None
