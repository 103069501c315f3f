"""Whether the device waits for each launch."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import BLOCKING_RATIO, BlockingLaunches, from_source, leads_ns
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.device_waits import DeviceWaits
from analyzer.facts.time.waterfall import Waterfall
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any
from traces.trace import Trace

# Below this median launch lead the device waits for each launch (rules.md 0.4: 2-5 us measured on CUDA, 10-18 us on ROCm).
LEAD_NS = 10_000
LEAD_ROCM_NS = 25_000
# A device this busy is not starved, however short the lead.
IDLE_RATIO = 0.15
# Dispatching one op takes no longer; what does is work of the op itself.
_DISPATCH_NS = 1_000_000


class UsualLaunch(msgspec.Struct, frozen=True):
    """What is usual of kernels and of the calls that launch them.

    Args:
        kernels: Kernels that start inside the used steps.
        kernel_ns: Median duration of one; None where there is none.
        call_ns: Median duration of a launch call inside the used steps; None where there is none.
    """

    kernels: int
    kernel_ns: int | None
    call_ns: int | None


def usual_launch(trace: Trace, steps: Steps) -> UsualLaunch:
    """Measures kernels and launch calls."""
    frame, calls = trace.kernels, trace.runtime
    kernels = frame["dur_ns"].to_numpy()[steps.window.contains(frame["start_ns"].to_numpy())]
    launching = is_any(calls["kind"], "launch") & steps.host_window.contains(calls["start_ns"].to_numpy())
    return UsualLaunch(len(kernels), _median(kernels), _median(calls["dur_ns"].to_numpy()[launching]))


def starved_gaps(launched: pd.DataFrame, idle: IntervalSet, limit_ns: float, skew_ns: int = 0) -> IntervalSet:
    """The gaps in the device's work that end with a kernel just launched: those in which it waited for that launch.

    However full its queue is elsewhere. Longer gaps than a dispatch takes are the host's own work, and left out.

    Args:
        launched: Work of the device with its launch calls, from `launches`.
        idle: When the device idles.
        limit_ns: Lead below which a kernel did not wait in a queue.
        skew_ns: By how much the device's clock is known to be behind the host's.
    """
    mine = from_source(launched, "kernels") & ~launched["shared"].to_numpy()
    begun = launched["start_ns"].to_numpy()[mine]
    order = np.argsort(begun, kind="stable")
    begun, lead = begun[order], leads_ns(launched)[mine][order] + skew_ns
    if not len(begun) or not idle:
        return EMPTY
    at = np.minimum(np.searchsorted(begun, idle.end_ns, side="left"), len(begun) - 1)
    starved = (begun[at] == idle.end_ns) & (lead[at] < limit_ns) & (idle.end_ns - idle.start_ns <= _DISPATCH_NS)
    return IntervalSet(idle.start_ns[starved], idle.end_ns[starved])


def _median(values: Int64Array) -> int | None:
    return int(np.median(values)) if len(values) else None


def launch_bound(
    trace: Trace,
    steps: Steps,
    blocking_launches: BlockingLaunches,
    device_waits: DeviceWaits,
    idle: IntervalSet,
    lead_ns: int | None,
    waterfall: Waterfall,
) -> bool:
    """Whether the device idles because it waits for each launch.

    Not where each launch waits for its kernel: that looks alike, and a faster kernel ends it earlier.
    """
    if blocking_launches.ratio >= BLOCKING_RATIO:
        return False
    limit = LEAD_ROCM_NS if trace.meta.device_kind == "rocm" else LEAD_NS
    lead = lead_ns
    # What waits although it was launched does not wait for launches.
    waiting = waterfall.owned("device_wait") - device_waits.starting
    return lead is not None and lead < limit and steps.ratio((idle - waiting).total_ns) >= IDLE_RATIO
