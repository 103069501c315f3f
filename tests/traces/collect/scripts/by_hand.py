"""Parameters updated by hand, without an optimizer and without a loader."""

import torch

torch.set_num_threads(1)
x = torch.linspace(-3, 3, 2000)
y = torch.sin(x)
weights = [torch.randn((), requires_grad=True) for _ in range(4)]
for _ in range(150):
    predicted = sum(weight * x**power for power, weight in enumerate(weights))
    # Two passes to a step: one of them is the step's.
    (predicted - y).pow(2).sum().backward()
    sum(weight.pow(2) for weight in weights).backward()
    with torch.no_grad():
        for weight in weights:
            weight -= 1e-9 * weight.grad
            weight.grad = None
