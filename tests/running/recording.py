"""Steps of training that a test runs and records with torch's profiler, as a user does."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

from analyzer.facts import Facts
from traces.reader.read import read


def recorded_steps(path: Path, step: Callable[[], None]) -> Facts:
    """What is measured of the last three of four steps on the CPU.

    Args:
        path: Where the trace is written.
        step: One step, update included.
    """
    import torch

    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=3),
        on_trace_ready=lambda profile: profile.export_chrome_trace(str(path)),
        **_keeps_events(torch.profiler.profile),
    ) as profile:
        for _ in range(4):
            step()
            profile.step()
    return Facts(read(path))


def _keeps_events(profile: Callable[..., object]) -> dict[str, bool]:
    """What keeps torch's profiler from warning that it forgets the events of earlier cycles; old versions have no such argument."""
    return {"acc_events": True} if "acc_events" in inspect.signature(profile).parameters else {}
