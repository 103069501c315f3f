"""PG005 graph launches against their kernels, and PG002 the collective that waits for the other ranks' profilers."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts.device.replays import MIN_REPLAYS, graph_replays
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.complete.repairs import WHOLE_FILE, is_cut
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.steps.faults import first_spin
from analyzer.facts.steps.find import Steps
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share
from traces.trace import Trace

# Share of all kernels that may be missing before shares of idle time are worthless.
_MISSING_UNUSABLE = 0.1
# Share of the used steps from which a spinning collective is worth a word.
_SPIN_SHARE = 0.05


def check(trace: Trace, device: DeviceFacts, steps: Steps) -> Iterator[Symptom]:
    """Replays in the used steps of which kernels are missing, and the profilers' start."""
    if device.main is not None:
        yield from _replays(trace, device, steps)
        yield from _spin(trace, steps)


def _replays(trace: Trace, device: DeviceFacts, steps: Steps) -> Iterator[Symptom]:
    replays = graph_replays(trace, device.launched)
    replays = chosen(replays, steps.host_window.contains(replays["start_ns"].to_numpy()))
    partial = chosen(replays, replays["partial"].to_numpy())
    if not len(partial):
        return
    missing = float((partial["expected"] - partial["kernels"]).sum())
    recorded = int(steps.window.contains(trace.kernels["start_ns"].to_numpy()).sum())
    ratio = missing / (missing + recorded)
    none_recorded = len(replays) >= MIN_REPLAYS and not replays["kernels"].any()
    grave = ratio >= _MISSING_UNUSABLE or none_recorded
    yield Symptom(
        "PG005",
        Gravity.UNUSABLE if grave else Gravity.CAUTION,
        f"{len(partial):,} of {len(replays):,} graph launches lack most of their kernels: the device looks idle where it is not.",
        WHOLE_FILE
        if is_cut(trace)
        else "record fewer steps, or raise the profiler's buffer size; or record without graphs",
        len(partial),
    )


def _spin(trace: Trace, steps: Steps) -> Iterator[Symptom]:
    first = first_spin(trace)
    if first is None:
        return
    row, dur = first
    start = int(trace.kernels["start_ns"].iloc[row])
    spin = IntervalSet.of([(start, start + dur)]) & steps.window
    ratio = steps.ratio(spin.total_ns)
    if ratio >= _SPIN_SHARE:
        yield Symptom(
            "PG002",
            Gravity.CAUTION,
            f"The first collective waits {duration(dur)} ({share(ratio)} of the window) until other ranks' profilers have started.",
            "start recording later on all ranks: schedule(wait=5, warmup=2, active=6, repeat=1)",
            1,
            ratio,
            time=spin,
        )
