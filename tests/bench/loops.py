"""The zoo's loops and the reference loop as scripts, for what runs scripts.

python tests/bench/loops.py reference [WORKERS]
python tests/bench/loops.py PRESET [THREADS]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]
# Longer than anything that times them takes.
STEPS = 200_000


def reference(workers: int) -> None:
    """The loop that `advisor collect` records, with torch's own loader."""
    import torch
    from torch.utils.data import DataLoader
    from torchvision import datasets, transforms

    from traces.collect.reference.data import find_data
    from traces.collect.reference.loop import Training, train
    from traces.collect.reference.models import build_model

    torch.manual_seed(0)
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    digits = datasets.MNIST(str(find_data(None, lambda *_: None).root), train=True, transform=transform)
    loader = DataLoader(digits, batch_size=64, shuffle=True, num_workers=workers)
    train(Training(build_model("mlp"), torch.device("cpu"), False), loader, STEPS, lambda: None, lambda _: None)


def preset(name: str, threads: int) -> None:
    """A preset, as `advisor zoo` runs it on one thread."""
    import torch

    from traces.collect.zoo import PRESETS

    torch.set_num_threads(threads)
    presets = {one.name: one for one in PRESETS}
    if name not in presets:
        raise SystemExit(f"no such preset: {name}; there are {', '.join(sorted(presets))}")
    loop = presets[name].loop(torch.device("cpu"))
    for _ in range(STEPS):
        next(loop)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loop", help="reference, or the name of a preset of `advisor zoo`")
    parser.add_argument("amount", type=int, nargs="?", help="workers of the reference (0), threads of a preset (1)")
    options = parser.parse_args()
    if options.loop == "reference":
        reference(options.amount or 0)
    else:
        preset(options.loop, options.amount or 1)
