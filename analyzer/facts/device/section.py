"""What devices do."""

from __future__ import annotations

from functools import cached_property

import pandas as pd

from analyzer.facts.device.activity import DeviceActivity, asks_for_device, device_activities, is_elsewhere
from analyzer.facts.device.cards import Card, cards
from analyzer.facts.device.launches import device_work, launches
from analyzer.facts.isolation import attempt, fact
from analyzer.facts.section import Section


class DeviceFacts(Section):
    """Work of the devices, and the calls that launched it."""

    NAME = "device"

    @fact
    def work(self) -> pd.DataFrame:
        """All device work; see `launches.device_work`."""
        return device_work(self.trace)

    @fact
    def launched(self) -> pd.DataFrame:
        """Device work with its launch call; see `launches.launches`."""
        return launches(self.trace, self.work)

    @fact
    def found(self) -> tuple[DeviceActivity, ...]:
        """Devices as they are found; see `activity`."""
        return device_activities(self.work, self.launched)

    @cached_property
    def all(self) -> tuple[DeviceActivity, ...]:
        """Devices with work, the one that stands for the trace first; none where that cannot be told."""
        return attempt(lambda: self.found, ())

    @property
    def main(self) -> DeviceActivity | None:
        """The device that stands for the trace; None on a CPU-only trace."""
        return self.all[0] if self.all else None

    @property
    def kind(self) -> str:
        """cuda, rocm, mtia, xpu, other, or cpu where nothing hints at a device."""
        return self.trace.meta.device_kind

    @fact
    def cards(self) -> tuple[Card, ...]:
        """The cards that the trace names."""
        return cards(self.trace.meta)

    @fact
    def elsewhere(self) -> bool:
        """Whether ops or memory are those of a device that is neither NVIDIA's nor AMD's."""
        return is_elsewhere(self.trace)

    @fact
    def unrecorded(self) -> bool:
        """Whether the program used a device of which the trace has no work: host gaps may then be waiting for it."""
        return self.main is None and asks_for_device(self.trace)
