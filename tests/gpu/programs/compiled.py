"""The decoder of `transformer.py` under `torch.compile`."""

import torch
from transformer import decoder, device, train


def main() -> None:
    torch.manual_seed(0)
    train(torch.compile(decoder().to(device)), 100)


if __name__ == "__main__":
    main()
