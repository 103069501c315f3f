"""Whether the device waits for each launch."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.device.launches import BLOCKING_RATIO, BlockingLaunches
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.device_waits import DeviceWaits
from analyzer.facts.time.waterfall import Waterfall
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any
from traces.trace import Trace

# Below this median launch lead the device waits for each launch (rules.md 0.4: 2-5 us measured on CUDA, 10-18 us on ROCm).
LEAD_NS = 10_000
LEAD_ROCM_NS = 25_000
# A device this busy is not starved, however short the lead.
IDLE_RATIO = 0.15


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
