"""Matrix products of known size: what a trace says of their FLOP/s against a clock of our own."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from gpu.bench import Bench, explained
from traces.collect.api import record

# Rows, inner, columns; on a CPU a sixteenth of each, which takes as long.
SIZES = ((8192, 8192, 8192), (4096, 4096, 4096), (8192, 64, 8192), (8191, 8191, 8191), (16384, 1024, 64))
TYPES = {"cuda": (torch.float32, torch.bfloat16, torch.float16), "cpu": (torch.float32,)}
# A trace's clock and ours may differ by so much; launches of kernels that take 100 us or more are hidden.
AGREE_RATIO = 0.05
_LEAST_NS = 100_000
_TIMES = 20


def products(bench: Bench) -> dict[str, Any]:
    """Time each product by CUDA events (on a CPU by the clock), record it with shapes, and compare."""
    rows = []
    for dtype in TYPES[bench.device]:
        for size in SIZES:
            sides = size if bench.device == "cuda" else tuple(max(16, side // 16) for side in size)
            rows.append(_one(bench, sides, dtype))
    worst = [row for row in rows if row["disagrees"]]
    return {
        "defects": [
            f"{row['name']}: {row['told_flops_per_s']:.3g} FLOP/s told, {row['flops_per_s']:.3g} timed" for row in worst
        ],
        "products": rows,
    }


def _one(bench: Bench, sides: tuple[int, ...], dtype: torch.dtype) -> dict[str, Any]:
    rows, inner, columns = sides
    left = torch.randn(rows, inner, device=bench.device, dtype=dtype)
    right = torch.randn(inner, columns, device=bench.device, dtype=dtype)
    took_ns = _timed_ns(left, right)
    operator = _told(bench, left, right)
    flops = 2 * rows * inner * columns
    told = operator.get("flops_per_s")
    timed = flops * 1e9 / took_ns
    # On a CPU, the caches and the other threads decide; there only the path is tried.
    comparable = bench.device == "cuda" and took_ns >= _LEAST_NS
    return {
        "name": f"{rows} x {inner} x {columns} {str(dtype).removeprefix('torch.')}",
        "flops_per_s": timed,
        "told_flops_per_s": told,
        "peak_ratio": operator.get("peak_ratio"),
        "side": operator.get("side"),
        "disagrees": told is None or (comparable and abs(told / timed - 1) > AGREE_RATIO),
    }


def _timed_ns(left: torch.Tensor, right: torch.Tensor) -> float:
    """Median time of a product, in ns, without the profiler."""
    for _ in range(5):
        left @ right
    if left.device.type != "cuda":
        return statistics.median(_clock_ns(left, right) for _ in range(_TIMES))
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(_TIMES + 1)]
    marks[0].record()
    for mark in marks[1:]:
        left @ right
        mark.record()
    torch.cuda.synchronize()
    return statistics.median(before.elapsed_time(after) for before, after in itertools.pairwise(marks)) * 1e6


def _clock_ns(left: torch.Tensor, right: torch.Tensor) -> int:
    began = time.perf_counter_ns()
    left @ right
    return time.perf_counter_ns() - began


def _told(bench: Bench, left: torch.Tensor, right: torch.Tensor) -> dict[str, Any]:
    """What the report of a recording says of the product; empty where it says nothing."""
    with tempfile.TemporaryDirectory(prefix="advisor-gpu-") as folder:
        path = Path(folder) / "product.json.gz"
        with record(path, wait=2, warmup=2, active=6, shapes=True, device=torch.device(bench.device)) as recorder:
            for _ in range(40):
                for _ in range(4):
                    left @ right
                recorder.step()
        operators = explained(path)["hardware"]["operators"]
    return next((one for one in operators if one["op"] in ("aten::mm", "aten::matmul") and one["flops_per_s"]), {})
