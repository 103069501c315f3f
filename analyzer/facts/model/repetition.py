"""Whether steps launch the same kernels in the same order, and what would keep them from being captured in a graph."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.communication.section import CommunicationFacts
from analyzer.facts.device.launches import from_source
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, is_any
from traces.patterns import Pattern
from traces.trace import Trace

# Idle time that ends with one call for all of a step's kernels.
_LAUNCHING = ("launch", "framework", "optimizer")
# Python between two launches of a model takes microseconds; a longer stretch does something else, which replaying kernels leaves
# unless it is part of what was captured.
_BETWEEN_LAUNCHES_NS = 500_000
# NVIDIA/nccl: ncclKernel_AllReduce_RING_LL_Sum_float, ncclDevKernel_*, ncclSymkDevKernel_*; ROCm/rccl keeps the names.
_OF_NCCL = Pattern(r"nccl(?!_ep)")


class Repetition(msgspec.Struct, frozen=True):
    """The used steps compared with one another.

    Args:
        equal_ratio: Share of them with the most frequent sequence of kernel names.
        kernels: Length of that sequence.
        copies_out: Copies from the device to the host launched in the used steps.
        syncs: Synchronising calls in them.
        allocations: Allocator calls in them.
        collectives: Collective kernels in them.
        other_collectives: Names of those that are not of NCCL or a library that keeps its naming (RCCL), each once.
        graphs: Graph launches in them.
        devices: Devices that the process drives.
    """

    equal_ratio: float
    kernels: int
    copies_out: int
    syncs: int
    allocations: int
    collectives: int
    other_collectives: tuple[str, ...]
    graphs: int
    devices: int


class Replayable(msgspec.Struct, frozen=True):
    """Device-idle time that goes where steps are replayed.

    Args:
        claims: What launching owns.
        replayed: The same, and the time from a launch that has returned to the start of its work on an idle device: a replayed
            graph starts all work with one call.
        removable: The same, the short gaps between queued kernels, and all Python between the first and the last launch of a step:
            of a step captured whole nothing runs on the host again. Waits for an event, another device or something unseen stay.
    """

    claims: IntervalSet
    replayed: IntervalSet
    removable: IntervalSet


def repetition(
    trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts, communication: CommunicationFacts
) -> Repetition:
    """Compares the steps by the names of their kernels in the order of launches."""
    sequences = _sequences(trace, device, steps)
    counts: dict[bytes, int] = {}
    for sequence in sequences:
        counts[sequence] = counts.get(sequence, 0) + 1
    most = max(counts, key=lambda sequence: counts[sequence], default=b"")
    hosts = steps.host_window
    calls = host.threads.calls
    inside = hosts.contains(calls["start_ns"].to_numpy())
    kinds = {kind: int((inside & is_any(calls["kind"], kind)).sum()) for kind in ("sync", "allocator", "graph_launch")}
    return Repetition(
        equal_ratio=counts.get(most, 0) / len(sequences) if sequences and most else 0.0,
        kernels=len(most) // 4,
        copies_out=int((inside & is_any(calls["direction"], "DtoH")).sum()),
        syncs=kinds["sync"],
        allocations=kinds["allocator"],
        collectives=communication.collectives.kernels,
        other_collectives=tuple(name for name in communication.collectives.kernel_names if not _OF_NCCL.match(name)),
        graphs=kinds["graph_launch"],
        devices=len(device.all),
    )


def replayable(device: DeviceFacts, steps: Steps, time: TimeFacts) -> Replayable:
    """What the device idles for that replaying the steps would end."""
    claims = time.waterfall.owned(*_LAUNCHING)
    python = time.waterfall.owned("python")
    between = python.end_ns - python.start_ns <= _BETWEEN_LAUNCHES_NS
    claims |= IntervalSet(python.start_ns[between], python.end_ns[between])
    replayed = claims | time.device_waits.starting
    removable = replayed | time.device_waits.in_queue | (python & _between_launches(device, steps))
    return Replayable(claims, replayed, removable)


def _between_launches(device: DeviceFacts, steps: Steps) -> IntervalSet:
    """From the first to the last launch of each used step."""
    at = np.sort(device.launched["launch_start_ns"].to_numpy()[from_source(device.launched, "kernels")])
    low, high = steps.host_slices(at)
    some = high > low
    return IntervalSet(at[low[some]], at[high[some] - 1])


def _sequences(trace: Trace, device: DeviceFacts, steps: Steps) -> list[bytes]:
    """For each used step the codes of its kernels' names in the order of their launches, as bytes that compare quickly."""
    rows = np.flatnonzero(from_source(device.launched, "kernels"))
    rows = rows[np.argsort(device.launched["launch_start_ns"].to_numpy()[rows], kind="stable")]
    at = device.launched["launch_start_ns"].to_numpy()[rows]
    codes = codes_of(trace.kernels["name"]).astype(np.int32)[device.launched["row"].to_numpy()[rows]]
    low, high = steps.host_slices(at)
    return [codes[first:last].tobytes() for first, last in zip(low.tolist(), high.tolist(), strict=True)]
