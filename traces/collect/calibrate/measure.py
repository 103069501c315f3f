"""What this machine achieves at best: square matrix products per number format, and a copy. Run as a program; needs torch only.

`python measure.py DEVICE THREADS SECONDS` prints one line of JSON. The best of many repeats counts: what disturbs
only makes slower.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

# On a GPU the largest products come closest to what its units can do; on a CPU one of them should take some tens of milliseconds.
_SIZE = {"cuda": 8192, "cpu": 1024}
_PROBE = 128
# Beyond every cache.
_COPIED_BYTES = {"cuda": 1 << 30, "cpu": 256 << 20}
_FORMATS = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def best_seconds(work: Callable[[], Any], device: str, budget_s: float) -> float:
    """The shortest of repeats of some work, of at least three, for about as long as the budget allows."""
    wait: Callable[[], Any] = torch.cuda.synchronize if device == "cuda" else bool
    work()
    wait()
    found: list[float] = []
    ends = time.perf_counter() + budget_s
    while len(found) < 3 or time.perf_counter() < ends:
        begun = time.perf_counter()
        work()
        wait()
        found.append(time.perf_counter() - begun)
        if found[0] > budget_s:
            break
    return min(found)


def products(device: str, budget_s: float) -> dict[str, float]:
    """FLOP/s of products by number format; those that the device cannot multiply are left out."""
    size, found = _SIZE[device], dict[str, float]()
    kinds = dict(_FORMATS) | ({"tf32": torch.float32} if device == "cuda" else {})
    for name, kind in kinds.items():
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        try:
            fitting = _fitting(size, kind, device, budget_s)
            found[name] = 2 * fitting**3 / _product_seconds(fitting, kind, device, budget_s)
        except RuntimeError:
            continue
    if device == "cuda" and torch.cuda.get_device_capability()[0] < 8:
        found.pop("tf32", None)
    return found


def _fitting(size: int, kind: torch.dtype, device: str, budget_s: float) -> int:
    """The largest size, by halves, of which five products take no longer than the budget: a CPU may emulate a format."""
    probe = min(size, _PROBE)
    taken = _product_seconds(probe, kind, device, 0.0)
    while size > probe and taken * (size / probe) ** 3 > budget_s / 5:
        size //= 2
    return size


def _product_seconds(size: int, kind: torch.dtype, device: str, budget_s: float) -> float:
    left, right = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    result = torch.empty(size, size, dtype=kind, device=device)
    return best_seconds(lambda: torch.mm(left, right, out=result), device, budget_s)


def copied(device: str, budget_s: float) -> float:
    """Bytes a second of a copy, read and written."""
    source = torch.ones(_COPIED_BYTES[device] // 4, device=device)
    target = torch.empty_like(source)
    return 2 * _COPIED_BYTES[device] / best_seconds(lambda: target.copy_(source), device, budget_s)


def main() -> None:
    """Measure and print."""
    device, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    if threads:
        torch.set_num_threads(threads)
    told = {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "flops_per_s": products(device, seconds / 6),
        "bytes_per_s": copied(device, seconds / 6),
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
