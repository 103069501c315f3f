"""How the host waits for the device."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.isolation import fact
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.sync.anomaly import AnomalyChecks, anomaly
from analyzer.facts.sync.waits import Waits, waits
from analyzer.facts.time.section import TimeFacts


class SyncFacts(Section):
    """Calls that make the host wait.

    Args:
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
    """

    NAME = "sync"

    def __init__(self, device: DeviceFacts, steps: Steps, host: HostFacts, time: TimeFacts) -> None:
        super().__init__(device.trace, device.failures)
        self._device, self._steps, self._host, self._time = device, steps, host, time

    @fact
    def waits(self) -> Waits:
        """Calls that make the host wait for the device."""
        return waits(self.trace, self._device, self._steps, self._host, self._time)

    @fact
    def anomaly(self) -> AnomalyChecks:
        """NaN checks of autograd's anomaly mode."""
        return anomaly(self.trace, self._steps, self._host)
