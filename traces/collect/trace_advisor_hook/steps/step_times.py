"""What steps take without the profiler."""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from typing import Any

from ..common import FAILURES


def middle(times: list[int]) -> int | None:
    """Median of times in ns; None where there are none."""
    return round(statistics.median(times)) if times else None


def usual_step(times: list[int], behind: int) -> int | None:
    """Median step without the profiler; None without steps.

    Args:
        times: What the host took for each, in ns: less than the device, where it runs ahead of that.
        behind: How long the device went on after the last of them, which began with nothing left to do.
    """
    return round(statistics.median(times) + behind / len(times)) if times else None


def wait_for_devices() -> int:
    """Let the devices finish what they were given; how long that took, in ns. Not while work is captured, which would fail."""
    started = time.perf_counter_ns()
    for name in ("cuda", "xpu"):
        module: Any = getattr(sys.modules.get("torch"), name, None)
        with contextlib.suppress(*FAILURES):
            if module.is_initialized() and not getattr(module, "is_current_stream_capturing", bool)():
                module.synchronize()
    return time.perf_counter_ns() - started


def batches_of_a_step(drawn: list[int]) -> float:
    """Batches drawn in a recorded step: the median, as a step may hold a whole evaluation beside its own."""
    return round(float(statistics.median(drawn)), 2)
