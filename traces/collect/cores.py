"""How many cores there are, and how many this process may use."""

from __future__ import annotations

import os
from typing import Any


def usable_cores() -> int:
    """Cores this process may run on, which in a container can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows do not tell


def core_counts() -> dict[str, Any]:
    """Both numbers, as the trace's metadata holds them."""
    return {"cpu_count": os.cpu_count(), "usable_cores": usable_cores()}
