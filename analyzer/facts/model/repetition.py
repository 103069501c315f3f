"""Whether steps launch the same kernels in the same order, and what would keep them from being captured in a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from analyzer.facts.device.launches import from_source
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, is_any

if TYPE_CHECKING:
    import pandas as pd

    from analyzer.facts import Facts

# Idle time that ends with one call for all of a step's kernels.
_LAUNCHING = ("launch", "framework", "optimizer")
# Python between two launches of a model takes microseconds; a longer stretch does something else, which replaying kernels leaves
# unless it is part of what was captured.
_BETWEEN_LAUNCHES_NS = 500_000


class Repetition(msgspec.Struct, frozen=True):
    """The used steps compared with one another.

    Args:
        equal_ratio: Share of them with the most frequent sequence of kernel names.
        kernels: Length of that sequence.
        copies_out: Copies from the device to the host launched in the used steps.
        syncs: Synchronising calls in them.
        allocations: Allocator calls in them.
        collectives: Collective kernels in them.
        graphs: Graph launches in them.
        devices: Devices that the process drives.
        claims: Device-idle time that launching owns.
        replayed: The same, and the time from a launch that has returned to the start of its work on an idle device: a replayed
            graph starts all work with one call.
        removable: The same, the short gaps between queued kernels, and all Python between the first and the last launch of a step:
            of a step captured whole nothing runs on the host again. Waits for an event, another device or something unseen stay.
    """

    equal_ratio: float
    kernels: int
    copies_out: int
    syncs: int
    allocations: int
    collectives: int
    graphs: int
    devices: int
    claims: IntervalSet
    replayed: IntervalSet
    removable: IntervalSet


def repetition(facts: Facts) -> Repetition:
    """Compares the steps by the names of their kernels in the order of launches."""
    used = facts.steps.used
    sequences = _sequences(facts, used)
    counts: dict[bytes, int] = {}
    for sequence in sequences:
        counts[sequence] = counts.get(sequence, 0) + 1
    most = max(counts, key=lambda sequence: counts[sequence], default=b"")
    hosts = IntervalSet(used["host_start_ns"].to_numpy(), used["host_end_ns"].to_numpy())
    calls = facts.host.calls
    inside = hosts.contains(calls["start_ns"].to_numpy())
    kinds = {kind: int((inside & is_any(calls["kind"], kind)).sum()) for kind in ("sync", "allocator", "graph_launch")}
    claims = IntervalSet()
    for cause in _LAUNCHING:
        claims |= facts.waterfall.owned(cause)
    python = facts.waterfall.owned("python")
    between = python.end_ns - python.start_ns <= _BETWEEN_LAUNCHES_NS
    claims |= IntervalSet(python.start_ns[between], python.end_ns[between])
    replayed = claims | facts.device_waits.starting
    return Repetition(
        equal_ratio=counts.get(most, 0) / len(sequences) if sequences and most else 0.0,
        kernels=len(most) // 4,
        copies_out=int((inside & is_any(calls["direction"], "DtoH")).sum()),
        syncs=kinds["sync"],
        allocations=kinds["allocator"],
        collectives=facts.collectives.kernels,
        graphs=kinds["graph_launch"],
        devices=len(facts.devices),
        claims=claims,
        replayed=replayed,
        removable=replayed | facts.device_waits.in_queue | (python & _between_launches(facts, used)),
    )


def _between_launches(facts: Facts, used: pd.DataFrame) -> IntervalSet:
    """From the first to the last launch of each used step."""
    at = np.sort(facts.launched["launch_start_ns"].to_numpy()[from_source(facts.launched, "kernels")])
    low = np.searchsorted(at, used["host_start_ns"].to_numpy(), side="left")
    high = np.searchsorted(at, used["host_end_ns"].to_numpy(), side="left")
    some = high > low
    return IntervalSet(at[low[some]], at[high[some] - 1])


def _sequences(facts: Facts, used: pd.DataFrame) -> list[bytes]:
    """For each used step the codes of its kernels' names in the order of their launches, as bytes that compare quickly."""
    rows = np.flatnonzero(from_source(facts.launched, "kernels"))
    rows = rows[np.argsort(facts.launched["launch_start_ns"].to_numpy()[rows], kind="stable")]
    at = facts.launched["launch_start_ns"].to_numpy()[rows]
    codes = codes_of(facts.trace.kernels["name"]).astype(np.int32)[facts.launched["row"].to_numpy()[rows]]
    low = np.searchsorted(at, used["host_start_ns"].to_numpy(), side="left")
    high = np.searchsorted(at, used["host_end_ns"].to_numpy(), side="left")
    return [codes[first:last].tobytes() for first, last in zip(low.tolist(), high.tolist(), strict=True)]
