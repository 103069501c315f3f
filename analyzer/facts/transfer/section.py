"""What is moved."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.isolation import fact
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.sync.section import SyncFacts
from analyzer.facts.transfer.copies import Transfers, transfers


class TransferFacts(Section):
    """Copies between host and device.

    Args:
        device: Work of the devices.
        steps: The steps.
        sync: Calls that wait for the device.
    """

    NAME = "transfer"

    def __init__(self, device: DeviceFacts, steps: Steps, sync: SyncFacts) -> None:
        super().__init__(device.trace, device.failures)
        self._device, self._steps, self._sync = device, steps, sync

    @fact
    def copies(self) -> Transfers:
        """Copies between host and device in the used steps."""
        return transfers(self.trace, self._device, self._steps)
