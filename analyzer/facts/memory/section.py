"""How the memory of the device is used."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.section import HealthFacts
from analyzer.facts.isolation import fact
from analyzer.facts.memory.allocator import Allocations, DeviceMemory, allocations, device_memory
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts


class MemoryFacts(Section):
    """Calls that allocate memory of the device, and how full it gets.

    Args:
        device: Work of the devices.
        steps: The steps.
        time: Whose each nanosecond is.
        health: Reasons to doubt the trace.
    """

    NAME = "memory"

    def __init__(self, device: DeviceFacts, steps: Steps, time: TimeFacts, health: HealthFacts) -> None:
        super().__init__(device.trace, device.failures)
        self._device, self._steps, self._time, self._health = device, steps, time, health

    @fact
    def allocations(self) -> Allocations:
        """Allocator calls in steady steps."""
        return allocations(self.trace, self._steps, self._time, self._health)

    @fact
    def device(self) -> DeviceMemory:
        """How full the device's memory gets."""
        return device_memory(self.trace, self._device, self._steps)
