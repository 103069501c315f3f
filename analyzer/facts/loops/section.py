"""Loops of the program."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.isolation import fact
from analyzer.facts.loops.backward_passes import Passes, many_passes
from analyzer.facts.loops.find import find_loops
from analyzer.facts.loops.loop import Loop
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.sync.section import SyncFacts
from analyzer.facts.time.section import TimeFacts


class LoopFacts(Section):
    """Loops over tensors, and updates of many backward passes.

    Args:
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
        sync: Calls that wait for the device.
    """

    NAME = "loops"

    def __init__(self, device: DeviceFacts, steps: Steps, host: HostFacts, time: TimeFacts, sync: SyncFacts) -> None:
        super().__init__(device.trace, device.failures)
        self._device, self._steps, self._host, self._time, self._sync = device, steps, host, time, sync

    @fact
    def found(self) -> tuple[Loop, ...]:
        """Loops of the program over tensors, longest first."""
        return find_loops(self.trace, self._steps, self._host)

    @fact
    def backward_passes(self) -> Passes:
        """Updates that take many backward passes."""
        return many_passes(self.trace, self._steps)
