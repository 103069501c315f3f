"""What `advisor collect --calibrate` measured of the machine, believing nothing about its shape."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from traces.trace import Meta

FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16")
# Beyond what any device does.
_MOST = 1e18


class Calibration(msgspec.Struct, frozen=True):
    """What products and copies achieve at best.

    Args:
        device: Its name, or `cpu`.
        threads: Threads that computed on a CPU.
        flops_per_s: By number format.
        bytes_per_s: Of a copy, read and written.
    """

    device: str
    threads: int
    flops_per_s: dict[str, float]
    bytes_per_s: float


def calibration(meta: Meta) -> Calibration | None:
    """Reads it; None where nobody measured, or what stands there is none."""
    told = meta.advisor.get("calibration")
    if not isinstance(told, dict):
        return None
    flops = told.get("flops_per_s")
    found = {kind: value for kind in FORMATS if (value := _rate(flops.get(kind)))} if isinstance(flops, dict) else {}
    moved, threads, device = _rate(told.get("bytes_per_s")), told.get("threads"), told.get("device")
    if not found or moved is None or not isinstance(device, str):
        return None
    return Calibration(device, threads if isinstance(threads, int) else 0, found, moved)


def _rate(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) and 0 < value < _MOST else None
