"""PG005 a file that ends early: whether what is lost lies behind whole steps, or may be of any of them."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.complete.coverage import LOST_CAUTION
from analyzer.facts.health.complete.repairs import WHOLE_FILE
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.steps.find import Steps
from analyzer.units import duration
from traces.trace import Capability, Trace


def check(trace: Trace, device: DeviceFacts, steps: Steps) -> Iterator[Symptom]:
    """What was lost looks like waiting: of one step where the file keeps to the order of time, else of all."""
    trace, until = trace, trace.whole_until_ns
    if until is None or not steps.recorded:
        return
    ((begin, end),) = steps.recorded.pairs()
    # A step's mark stands before what it spans: of one that nothing follows, the mark alone says how much is missing.
    end = max(end, int(trace.steps["end_ns"].max())) if len(trace.steps) else end
    if not (trace.steps["end_ns"] <= until).any() and end - until >= LOST_CAUTION * (end - begin):
        why = "no step is whole" if len(trace.steps) else "its events do not stand in the order of time"
        yield Symptom(
            "PG005",
            Gravity.UNUSABLE,
            f"The file ends early, and {why}: what is lost, device work above all, may be "
            f"of any part of the last {duration(end - until)} of {duration(end - begin)}, and looks like waiting.",
            WHOLE_FILE,
            1,
        )
    elif Capability.DEVICE not in trace.capabilities and _has_device(trace, device):
        yield Symptom(
            "PG005",
            Gravity.UNUSABLE,
            "The file ends before any device work, which the profiler writes last: what training waits for is not known.",
            WHOLE_FILE,
            1,
        )


def _has_device(trace: Trace, device: DeviceFacts) -> bool:
    """Whether the machine has a device, or ops ran on one."""
    return device.unrecorded or trace.meta.device_kind not in ("cpu", "other")
