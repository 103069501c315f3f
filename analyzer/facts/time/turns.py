"""Devices of one process that take turns: what one computes waits for what another one has computed."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.time.device_waits import DeviceWaits
from analyzer.spans.intervals import IntervalSet

# Devices that take turns compute at the same time only where each updates its own parameters.
_BESIDE = 0.25


def take_turns(device: DeviceFacts, waits: DeviceWaits, window: IntervalSet) -> bool:
    """Whether the device mostly waits for another one of the process, which in turn does little while this one works.

    Args:
        device: Work of the devices.
        waits: What launched work of the device that stands for the trace waits for.
        window: The used steps.
    """
    main = device.main
    if main is None or waits.longest != "for_device":
        return False
    others = IntervalSet.union(item.compute for item in device.all if item.device != main.device)
    computing = main.compute & window
    return (computing & others).total_ns < _BESIDE * computing.total_ns
