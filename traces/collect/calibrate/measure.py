"""What this machine achieves at best: square matrix products per number format, and a copy. Run as a program; needs torch only.

`python measure.py DEVICE THREADS SECONDS` prints one line of JSON. The best of many repeats counts: what disturbs
only makes slower. All are measured in turns, so that nothing disturbs one of them alone; what differs from turn to turn is measured
for longer, and said to be unsettled where it never agrees with itself.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

# On a GPU the largest products come closest to what its units can do; on a CPU so do larger ones, and shorter ones are likelier to
# run undisturbed.
_SIZES = {"cuda": (8192,), "cpu": (512, 1024)}
# On a GPU a small one takes as long as its launch, which says nothing of a large one.
_PROBE = {"cuda": 2048, "cpu": 128}
_PROBES = 10
# Beyond every cache. On a CPU a part of it at a time: by the time it is its turn again the others have taken its place.
_COPIED_BYTES = {"cuda": 1 << 30, "cpu": 256 << 20}
_PART_BYTES = {"cuda": 1 << 30, "cpu": 8 << 20}
_FORMATS = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
# Bests of the even and of the odd turns differ by no more than this once they have settled. What disturbs does so by more.
_AGREE = 0.1
_TURNS = 4
_MOST_TURNS = 8


class Best:
    """The best rate of some work so far, by turns.

    Args:
        work: Does it once, of the amount it returns (operations or bytes).
    """

    def __init__(self, work: Callable[[], float]) -> None:
        self.work = work
        self._turns: list[float] = []

    @property
    def rate(self) -> float:
        """The best of all turns, a second."""
        return max(self._turns)

    @property
    def settled(self) -> bool:
        """Whether two halves of the turns say the same."""
        halves = [max(self._turns[start::2], default=0.0) for start in (0, 1)]
        return min(halves) >= (1 - _AGREE) * max(halves)

    def turn(self, device: str, budget_s: float) -> None:
        """Repeats the work, twice at least, for about as long as the budget allows."""
        wait: Callable[[], Any] = torch.cuda.synchronize if device == "cuda" else bool
        self.work()
        wait()
        best, count, ends = 0.0, 0, time.perf_counter() + budget_s
        while count < 2 or time.perf_counter() < ends:
            begun = time.perf_counter()
            amount = self.work()
            wait()
            taken = time.perf_counter() - begun
            best, count = max(best, amount / taken), count + 1
            if taken > budget_s:
                break
        self._turns.append(best)


def measured(found: dict[str, list[Best]], device: str, seconds: float) -> tuple[dict[str, float], list[str]]:
    """The best rate of each, and the names of those that did not settle.

    Args:
        found: Ways to do it by name; the best one of them counts.
        device: `cuda` or `cpu`.
        seconds: About how long to measure where all settle; twice that where none does.
    """
    budget_s = seconds / _TURNS / max(sum(map(len, found.values())), 1)
    for turn in range(_MOST_TURNS):
        for name, ways in found.items():
            if turn < _TURNS or not _settled(ways):
                for one in ways:
                    _allow_tf32(name == "tf32")
                    one.turn(device, budget_s)
    rates = {name: max(one.rate for one in ways) for name, ways in found.items()}
    return rates, [name for name, ways in found.items() if not _settled(ways)]


def _settled(ways: list[Best]) -> bool:
    """Of the way that is best."""
    return max(ways, key=lambda one: one.rate).settled


def _allow_tf32(allowed: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = allowed


def products(device: str, budget_s: float) -> dict[str, list[Best]]:
    """Products by number format; those that the device cannot multiply are left out."""
    found: dict[str, list[Best]] = {}
    kinds = dict(_FORMATS) | ({"tf32": torch.float32} if device == "cuda" else {})
    for name, kind in kinds.items():
        _allow_tf32(name == "tf32")
        try:
            largest = _fitting(max(_SIZES[device]), kind, device, budget_s)
            sizes = {min(size, largest) for size in _SIZES[device]}
            found[name] = [Best(_product(size, kind, device)) for size in sorted(sizes)]
        except RuntimeError:
            continue
    if device == "cuda" and torch.cuda.get_device_capability()[0] < 8:
        found.pop("tf32", None)
    return found


def _fitting(size: int, kind: torch.dtype, device: str, budget_s: float) -> int:
    """The largest size, by halves, of which five products take no longer than the budget: a CPU may emulate a format."""
    probe = min(size, _PROBE[device])
    tried = Best(_product(probe, kind, device))
    for _ in range(_PROBES):
        tried.turn(device, 0.0)
    while size > probe and 2 * size**3 / tried.rate > budget_s / 5:
        size //= 2
    return size


def _product(size: int, kind: torch.dtype, device: str) -> Callable[[], float]:
    left, right = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    result = torch.empty(size, size, dtype=kind, device=device)

    def work() -> float:
        torch.mm(left, right, out=result)
        return 2.0 * size**3

    return work


def copied(device: str) -> Best:
    """A copy, in bytes read and written."""
    source = torch.ones(_COPIED_BYTES[device] // 4, device=device)
    target = torch.empty_like(source)
    length = _PART_BYTES[device] // 4
    parts = [(source[at : at + length], target[at : at + length]) for at in range(0, len(source), length)]
    # Touched once: pages that nobody has written to are not there yet.
    target.copy_(source)
    place = 0

    def work() -> float:
        nonlocal place
        place = (place + 1) % len(parts)
        parts[place][1].copy_(parts[place][0])
        return 2.0 * _PART_BYTES[device]

    return Best(work)


def main() -> None:
    """Measure and print."""
    device, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    if threads:
        torch.set_num_threads(threads)
    rates, unsettled = measured(products(device, seconds / 6) | {"copy": [copied(device)]}, device, seconds)
    told = {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "flops_per_s": {name: rate for name, rate in rates.items() if name != "copy"},
        "bytes_per_s": rates["copy"],
        "unsettled": unsettled,
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
