"""How ranks talk to each other."""

from __future__ import annotations

from analyzer.facts.communication.collectives import Collectives, collectives
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.isolation import fact
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts


class CommunicationFacts(Section):
    """Collectives.

    Args:
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
        kernels: Kernels of the used steps.
    """

    NAME = "communication"

    def __init__(
        self,
        device: DeviceFacts,
        steps: Steps,
        host: HostFacts,
        time: TimeFacts,
        kernels: KernelFacts,
    ) -> None:
        super().__init__(device.trace, device.failures)
        self._device, self._steps, self._host, self._time, self._kernels = device, steps, host, time, kernels

    @fact
    def collectives(self) -> Collectives:
        """Collectives: when they run, and what of it nothing hides."""
        return collectives(self.trace, self._device, self._steps, self._host, self._time, self._kernels)
