"""Counters of a CUDA device while steps are recorded, which torch samples from 2.15 on with the package cupti-python.

Clock, power and temperature cost little. What the performance monitors count locks the clock, so that neither the clock nor how
long anything takes can be believed beside them: a recording has the one or the other, never both.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

# What may be asked for: the environment of the device, or the activity of its units.
KINDS = ("clocks", "activity")
# Names of NVIDIA's performance monitors: how busy multiprocessors and memory are.
_METRICS = ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed")
_NEEDED = ("CuspyConfig", "PerformanceMetricsConfig", "ProfilerActivityConfig")


def lacking(torch: Any, devices: list[str]) -> str:
    """Why no counters can be sampled here; empty where they can.

    Args:
        torch: The module.
        devices: Devices in use, by torch's names of their modules.
    """
    if "cuda" not in devices:
        return "no CUDA device is in use"
    if not all(hasattr(torch.profiler, name) for name in _NEEDED):
        return f"torch {torch.__version__} samples none, 2.15 is the first that does"
    if find_spec("cupti") is None:
        return "the package cupti-python is not installed beside torch"
    return ""


def sampling(torch: Any, kind: str) -> dict[Any, Any]:
    """What `torch.profiler.profile` takes among its activities in place of CUDA's plain one.

    Args:
        torch: The module.
        kind: One of `KINDS`.
    """
    profiler = torch.profiler
    clocks = kind == "clocks"
    # Left out unless asked for: waits for the device, and what the kernels of a graph wait for.
    shown = {f"enable_{what}": True for what in ("cuda_sync_events", "graph_dependencies", "event_node_ids")}
    configs = [profiler.CuspyConfig(enable_environment_counters=clocks, **shown)]
    if not clocks:
        configs.append(profiler.PerformanceMetricsConfig(metric_names=list(_METRICS)))
    return {profiler.ProfilerActivity.CUDA: profiler.ProfilerActivityConfig(profiler_configs=configs)}


def watch_graphs(torch: Any) -> None:
    """Lets torch note from here on what in a CUDA graph waits for what: graphs are made once, long before steps are recorded.

    Args:
        torch: The module.
    """
    if not lacking(torch, ["cuda"]):
        kinds = torch.profiler.ProfilerActivity
        # Noted from the moment on at which a profiler is made that would want to know.
        torch.profiler.profile(activities=[kinds.CPU, sampling(torch, KINDS[0])])
