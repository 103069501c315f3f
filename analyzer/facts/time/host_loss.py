"""What host work costs: device-idle time in it, or on a CPU-only trace its own time; one meaning for several rules."""

from __future__ import annotations

import msgspec

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.time.device_waits import DeviceWaits
from analyzer.facts.time.waterfall import Waterfall
from analyzer.spans.intervals import IntervalSet

# Causes that own device-idle time in which the host prepares work by itself; waiting has causes of its own.
_HOST_CAUSES = ("framework", "launch", "python")
# On a quiet core ops shorter than this are mostly dispatch (a profiled `aten::add` of one element takes 2-10 us): batching saves
# them.
DISPATCH_BOUND_OP_NS = 20_000


class HostLoss(msgspec.Struct, frozen=True):
    """Time lost to host work.

    Args:
        claims: Device-idle time in it; on a CPU-only trace the time outside any op.
        op_ns: On a CPU-only trace the time inside its ops, which a batched call makes shorter; else 0. Where they compute for most
            of it, what of that is dispatch.
    """

    claims: IntervalSet
    op_ns: int

    @property
    def total_ns(self) -> int:
        """Both together."""
        return self.claims.total_ns + self.op_ns

    def scaled(self, ratio: float) -> HostLoss:
        """The part that can be saved."""
        return HostLoss(self.claims.scaled(ratio), int(self.op_ns * ratio))


def host_idle(device_waits: DeviceWaits, waterfall: Waterfall) -> IntervalSet:
    """Device-idle time in which the host prepares work by itself; what the work takes to start then is part of it."""
    return device_waits.starting | waterfall.owned(*_HOST_CAUSES)


def host_loss(
    device: DeviceFacts,
    device_waits: DeviceWaits,
    waterfall: Waterfall,
    spans: IntervalSet,
    *,
    dispatch_ratio: float = 1.0,
) -> HostLoss:
    """What host work in these spans costs.

    Args:
        device: Work of the devices.
        device_waits: What launched work waits for.
        waterfall: The causes, over the used steps.
        spans: Where the host does it.
        dispatch_ratio: On the CPU, the share of its ops' time that is dispatch, which batching saves.
    """
    idle = waterfall.owned("python") if device.main is None else host_idle(device_waits, waterfall)
    op_ns = (spans & waterfall.owned("compute")).total_ns if device.main is None else 0
    return HostLoss(spans & idle, int(op_ns * dispatch_ratio))
