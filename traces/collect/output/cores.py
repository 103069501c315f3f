"""How many cores there are, how many this process may use, and what they can do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_FEATURES = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
_CPUINFO = Path("/proc/cpuinfo")


def usable_cores() -> int:
    """Cores this process may run on, which in a container can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows do not tell


def cpu_features() -> list[str] | None:
    """Vector and matrix units of the processor that matter for training; None where the system does not tell."""
    try:
        text = _CPUINFO.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    flags = next((line.partition(":")[2].split() for line in text.splitlines() if line.startswith("flags")), None)
    return None if flags is None else [name for name in _FEATURES if name in flags]


def describe_cores() -> dict[str, Any]:
    """Their numbers and units, as the trace's metadata holds them."""
    return {"cpu_count": os.cpu_count(), "usable_cores": usable_cores(), "cpu_features": cpu_features()}
