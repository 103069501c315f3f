"""What it takes here to get a tensor from another process: what a batch from a loader's worker costs the one that trains."""

from __future__ import annotations

import os
import statistics
import sys
import time
from multiprocessing import reduction, resource_sharer
from typing import Any

_ROUNDS = 12
# So long nothing happens in between, as in training: a core that sleeps wakes up more slowly than one that spins.
_REST_S = 0.002


def hand_over(advisor: dict[str, Any]) -> dict[str, Any]:
    """The row `hand_over` where the training process makes its batches itself: what workers would cost is not in the recording.

    Args:
        advisor: What the hook tells of the run.
    """
    loader = advisor.get("loader")
    alone = isinstance(loader, dict) and loader.get("num_workers") == 0
    return {"hand_over": time_hand_over()} if alone else {}


def time_hand_over() -> dict[str, int] | None:
    """Nanoseconds to take over one open file, as each tensor of a worker's batch is; None on other systems than Linux.

    Source: torch/multiprocessing/reductions.py, `rebuild_storage_fd`, whose `df.detach()` asks a thread of the other process for it
    by a socket. A thread of the same process takes as long: both wait for each other to wake up.
    """
    # Elsewhere torch shares by names of files, or has no such sockets.
    if sys.platform != "linux":
        return None
    took = []
    try:
        with open(os.devnull, "rb") as file:
            for _ in range(_ROUNDS):
                given = reduction.DupFd(file.fileno())
                time.sleep(_REST_S)
                began = time.perf_counter_ns()
                os.close(given.detach())
                took.append(time.perf_counter_ns() - began)
    except (OSError, EOFError):
        return None
    finally:
        resource_sharer.stop(timeout=1)
    # The script may run on, and have the cores: what is waited for them is no part of it.
    return {"rounds": _ROUNDS, "lower_quartile_ns": round(statistics.quantiles(took, n=4)[0])}
