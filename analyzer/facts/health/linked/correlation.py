"""PG007 ids that do not link device work with the host."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts.device.ids import repeats_correlation
from analyzer.facts.device.launches import from_source
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.steps.find import Steps
from analyzer.units import share
from traces.trace import Capability, Trace

# Share of kernels without a launch from which causes of idle time are mostly unknown.
_UNLINKED = 0.2
_MIN_KERNELS = 20


def check(trace: Trace, device: DeviceFacts, steps: Steps) -> Iterator[Symptom]:
    """External ids equal to correlations (torch 1.13-2.2), or kernels without a launch call."""
    kernels = trace.kernels
    total = len(kernels)
    if total < _MIN_KERNELS or Capability.HOST_OPS not in trace.capabilities:
        return
    same = int(repeats_correlation(kernels).sum())
    if same > total / 2:
        yield Symptom(
            "PG007",
            Gravity.NOTE,
            f"External ids of {share(same / total)} of the kernels repeat the correlation id (torch 1.13-2.2): "
            "ops are found through the launch call instead.",
            "torch 2.3 or newer writes them correctly; nothing here rests on them",
            same,
        )
    # What the step before the first one launched runs before the steps begin: nobody asks where it comes from.
    since = int(steps.frame["start_ns"].min())
    total = int((kernels["start_ns"].to_numpy() >= since).sum())
    launched = device.launched["start_ns"].to_numpy()[from_source(device.launched, "kernels")]
    unlinked = total - int((launched >= since).sum())
    if total >= _MIN_KERNELS and unlinked / total > _UNLINKED:
        yield Symptom(
            "PG007",
            Gravity.CAUTION,
            f"{unlinked:,} of {total:,} kernels ({share(unlinked / total)}) have no launch call in the trace: "
            "idle time before them has no known cause.",
            "record both CPU and device activity, and start the profiler before the first launch",
            unlinked,
            touches=IDLE_CAUSES,
        )
