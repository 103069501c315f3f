"""Opens ranges in whatever session is on, and closes them in a later one of its own, when other objects have the memory."""

import sys

import torch

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
held = []


def train(steps, hold):
    for _ in range(steps):
        if hold:
            for _ in range(50):
                held.append(torch.profiler.record_function("held"))
                held[-1].__enter__()
        weight.sum().backward()
        optimizer.step()


def whole(number):
    blocks = [bytearray(size) for size in range(64, 65536, 64)]
    with torch.profiler.profile():
        for one in held:
            one.__exit__(None, None, None)
    held.clear()
    assert not any(any(block) for block in blocks), number


if sys.argv[1] == "ours-first":
    for number in range(4):
        train(14 if number == 0 else 100, hold=True)  # the recording begins after ten steps
        whole(number)
else:
    with torch.profiler.profile():
        train(5, hold=True)
    blocks = [bytearray(size) for size in range(64, 65536, 64)]
    for _ in range(40):  # closed one after another, some of them while the recording is on
        train(1, hold=False)
        for one in held[:10]:
            one.__exit__(None, None, None)
        del held[:10]
    assert not any(any(block) for block in blocks)
print("whole")
