"""PG005 device events are missing, all of them or a part; or nothing was recorded at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.intervals import EMPTY
from analyzer.units import count, share
from traces.trace import Capability

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Shares of launches without their kernel from which shares of idle time are doubtful, or worthless.
_LOST_CAUTION = 0.1
_LOST_UNUSABLE = 0.5
# Fewer launches than this say nothing about loss.
_MIN_LAUNCHES = 20

_FIX_DEVICE = (
    "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]; check that no other profiler is attached and that CUPTI "
    "may be used (NVreg_RestrictProfilingToAdminUsers)"
)


def check(facts: Facts) -> Iterator[Symptom]:
    """Symptoms that concern what was recorded at all."""
    trace = facts.trace
    found = trace.capabilities
    calls = trace.runtime
    launches = calls[calls["kind"] == "launch"]
    has_device = Capability.DEVICE in found
    if not has_device and not len(trace.ops) and not len(trace.collectives):
        yield Symptom(
            "PG005",
            Gravity.UNUSABLE,
            "The trace holds neither ops nor device work"
            + (", only Python calls." if len(trace.python) else ": its events were cleared before the export."),
            "use schedule(..., repeat=1) and export in on_trace_ready, not after the loop",
            trace.meta.events,
        )
    elif not has_device and len(launches) >= _MIN_LAUNCHES:
        yield Symptom(
            "PG005",
            Gravity.UNUSABLE,
            f"{len(launches):,} kernels were launched, none was recorded: the device looks idle, and is not.",
            _FIX_DEVICE,
            len(launches),
        )
    elif not has_device and trace.meta.device_kind not in ("cpu", "other"):
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            f"The machine has a {trace.meta.device_kind} device, but no device work was recorded: only the CPU's side is judged.",
            _FIX_DEVICE,
            len(calls),
        )
    elif has_device and not len(trace.ops):
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            "Only device work was recorded: what the host does while the device idles is unknown.",
            "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
            len(trace.kernels),
        )
    if has_device:
        yield from _lost(facts)
        yield from _timeless(facts)
    events = sparse_host_events(facts)
    if events is not None:
        alone = facts.device is None and (facts.trace.annotations["kind"] == "optimizer_step").any()
        beside = " beside the optimizer's" if alone else ""
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            f"The training thread has {count(events, 'op or call', 'ops and calls')} in {count(facts.used_steps, 'step')}{beside}: "
            "the trace was filtered or cut, or other threads do the work, so time outside ops means nothing.",
            "record CPU activity whole, do not filter the file, and start the profiler in the thread that trains",
            events,
        )


def sparse_host_events(facts: Facts) -> int | None:
    """Number of ops and calls of the training thread in the used steps where there is less than one a step; else None.

    On a CPU-only trace those of the optimizer do not count: where there is nothing else, the forward and the backward pass ran on
    threads that the profiler does not see.
    """
    trace, main = facts.trace, facts.main_thread
    if not len(trace.ops) or main is None:
        return None
    window = facts.window() - (facts.host.during("optimizer", main) if facts.device is None else EMPTY)
    events = 0
    for frame in (trace.ops, trace.runtime):
        starts = frame["start_ns"].to_numpy()[frame["thread"].to_numpy() == main]
        events += int(window.contains(starts).sum())
    return events if events < facts.used_steps else None


def launches_without_op(facts: Facts) -> float:
    """Share of the kernels launched in the used steps whose launch lies inside no op of its thread; 0 without kernels.

    In traces recorded whole it is at most 2 %. Where it is more, ops were not recorded, or an extension launches by itself.
    """
    launched = facts.launched[(facts.launched["source"] == "kernels") & (facts.launched["launch_kind"] == "launch")]
    launched = launched[facts.window().contains(launched["launch_start_ns"].to_numpy())]
    thread, at = launched["launch_thread"].to_numpy(), launched["launch_start_ns"].to_numpy()
    outside = 0
    for one in np.unique(thread).tolist():
        outside += int((~facts.host.during("ops", int(one)).contains(at[thread == one])).sum())
    return outside / len(launched) if len(launched) else 0.0


def _timeless(facts: Facts) -> Iterator[Symptom]:
    """Kernels without a duration: the device looks idle, and every saving looks possible."""
    kernels = facts.trace.kernels
    if len(kernels) >= _MIN_LAUNCHES and not int(kernels["dur_ns"].sum()):
        yield Symptom(
            "PG005",
            Gravity.UNUSABLE,
            f"None of {len(kernels):,} kernels has a duration: what the device works is not known.",
            _FIX_DEVICE,
            len(kernels),
        )


def _lost(facts: Facts) -> Iterator[Symptom]:
    """Launches whose kernel is missing, by the launches inside the used steps."""
    calls = facts.trace.runtime
    launches = calls[(calls["kind"] == "launch") & calls["correlation"].notna()]
    # Where no call matches at all, ids are broken (PG007), not kernels lost.
    known = launches["correlation"].isin(facts.work["correlation"].dropna())
    inside = facts.window().contains(launches["start_ns"].to_numpy())
    total = int(inside.sum())
    lost = int((inside & ~known.to_numpy()).sum())
    if total >= _MIN_LAUNCHES and known.any() and lost / total >= _LOST_CAUTION:
        grave = lost / total >= _LOST_UNUSABLE
        yield Symptom(
            "PG005",
            Gravity.UNUSABLE if grave else Gravity.CAUTION,
            f"{lost:,} of {total:,} launches ({share(lost / total)}) have no kernel: "
            "device activity was lost, idle time is overstated.",
            "record fewer steps, or raise the profiler's buffer size; do not run another profiler beside it",
            lost,
        )
