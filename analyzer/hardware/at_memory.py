"""Time of operators that move bytes as fast as the memory can: what is left to them is fewer bytes."""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.hardware.limits import device_peaks
from analyzer.hardware.operators import Operator, operators
from analyzer.hardware.roofline import place
from traces.trace import Capability

MEMORY_COUNTERS = ("DRAM BW", "HBM BW")


class AtMemory(msgspec.Struct, frozen=True):
    """Operators limited by memory.

    Args:
        rows: Those that reach the wanted share of the memory's peak, the longest first, each with its share.
        time_ns: Their time.
        known: Whether any operator has a roofline.
    """

    rows: tuple[tuple[Operator, float], ...]
    time_ns: int
    known: bool


def at_memory(facts: Facts, least_ratio: float) -> AtMemory:
    """Operators on the memory's side of the roofline that reach `least_ratio` of it; none are known without recorded shapes."""
    if Capability.SHAPES not in facts.trace.capabilities:
        return AtMemory((), 0, known=False)
    limits = device_peaks(facts)[1]
    rows, known = [], False
    for one in operators(facts).rows:
        at = place(one, limits)
        known |= at.least_ns is not None
        if at.side == "memory" and at.least_ns is not None and at.least_ns >= least_ratio * one.device_ns:
            rows.append((one, at.least_ns / one.device_ns))
    return AtMemory(tuple(rows), sum(one.device_ns for one, _ in rows), known)


def memory_activity(facts: Facts) -> float | None:
    """Median of the memory's activity while the device was busy, 0..1, as its counter states it; None where none was recorded."""
    main = facts.device.main
    for name in MEMORY_COUNTERS:
        found = facts.kernels.counters.of(name, main.device) if main is not None else None
        if found is not None and found.unit == "%":
            return float(sorted(found.value)[len(found.value) // 2]) / 100
    return None
