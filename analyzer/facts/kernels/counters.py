"""What the device's own counters say while it works: clocks, power, temperature, activity."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import FloatArray, Int64Array
from analyzer.spans.labels import distinct_texts, is_any
from traces.patterns import Pattern
from traces.trace import Trace

CLOCK = "SM Clock"
# What torch 2.15 computes from durations and the clock: no sample of anything.
_COMPUTED = "Cycles (Current Kernel)"
# Metrics of performance monitors; recording them locks the clocks.
_LOCKING = Pattern(r"(SM Active|DRAM BW|HBM BW|HBM Read|HBM Write|NVLink RX|NVLink TX|PCIe)\b|\w+__\w+")
_UNIT = Pattern(r"(.*?) ?\(([^()]*)\)")


class Counter(msgspec.Struct, frozen=True, eq=False):
    """Samples of one counter while its device is busy in the used steps.

    Args:
        name: Without its unit.
        unit: As recorded: `MHz`, `%`, `W`, `C`; empty where none is.
        device: Device number.
        at_ns: When, ascending.
        value: In the unit, shape of `at_ns`.
    """

    name: str
    unit: str
    device: int
    at_ns: Int64Array
    value: FloatArray

    def from_first_near_highest(self, ratio: float) -> FloatArray:
        """The samples from the first on that is at least this share of the highest."""
        near = np.flatnonzero(self.value >= ratio * self.value.max())
        return self.value[int(near[0]) :]


class Counters(msgspec.Struct, frozen=True):
    """The counters of all devices.

    Args:
        rows: Each with at least one sample, in the order of devices and names.
        locked: Whether metrics were recorded whose recording locks the clocks.
    """

    rows: tuple[Counter, ...]
    locked: bool

    def of(self, name: str, device: int | None) -> Counter | None:
        """One counter of a device; None where it was not recorded."""
        return next((one for one in self.rows if one.name == name and one.device == device), None)


def counters(trace: Trace, device: DeviceFacts, steps: Steps) -> Counters:
    """Reads the counters; none where none was recorded."""
    frame = trace.counters
    names = distinct_texts(frame["name"])
    at, value, number = (frame[column].to_numpy() for column in ("start_ns", "value", "device"))
    found = []
    for one in device.all:
        busy = one.busy & steps.window
        mine = (number == one.device) & busy.contains(at)
        for name in names:
            rows = np.flatnonzero(mine & is_any(frame["name"], name))
            if name == _COMPUTED or not len(rows):
                continue
            said = _UNIT.fullmatch(name)
            title, unit = (said.group(1), said.group(2)) if said else (name, "")
            found.append(Counter(title, unit, one.device, at[rows], value[rows]))
    found.sort(key=lambda one: (one.device, one.name))
    return Counters(tuple(found), any(_LOCKING.match(name) for name in names))
