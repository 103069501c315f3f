"""How fast Python runs at the moment: an empty loop, timed beside the recording.

A slow core takes longer for each turn, a busy one is taken away between them; the mean holds both.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

# About 0.2 ms a round, 15 ms in all: long enough for another program to have its turn, which Linux gives it for some ms.
TURNS = 10_000
ROUNDS = 80


def time_loop() -> list[int]:
    """What each round took, in ns."""
    return [_round() for _ in range(ROUNDS)]


def _round() -> int:
    started = time.perf_counter_ns()
    for _ in range(TURNS):
        pass
    return time.perf_counter_ns() - started


def described(rounds: list[int]) -> dict[str, Any] | None:
    """Turns of a round, and what rounds took: the fastest, the median, the mean, in ns; None without any."""
    if not rounds:
        return None
    return {
        "turns": TURNS,
        "rounds": len(rounds),
        "fastest_ns": min(rounds),
        "median_ns": round(statistics.median(rounds)),
        "mean_ns": round(statistics.mean(rounds)),
    }
