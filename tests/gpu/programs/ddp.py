"""DistributedDataParallel with one rank: all that it does but wait for others."""

import os
import socket

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
width = 4096 if device.type == "cuda" else 128


def main() -> None:
    torch.manual_seed(0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": "0", "WORLD_SIZE": "1"}
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    layers = [layer for _ in range(6) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = DistributedDataParallel(nn.Sequential(*layers).to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    inputs = torch.randn(512, width, device=device)
    for _ in range(100):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = model(inputs).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
