"""PG005 events of unknown categories: device work may be among them, or nothing that they were taken for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analyzer.facts.health.symptom import Gravity, Symptom
from traces.trace import Capability, Trace, UnknownCategory

# Fewer of them, or less beside what is known, are somebody's marks: as many as make lost launches worth a caution.
_MIN_EVENTS = 20
_MIN_RATIO = 0.1
_LISTED = 3
_FIX = "read it with the tool of the device's maker (Ascend: msprof-analyze), or record with torch.profiler on CUDA, ROCm or XPU"


def check(trace: Trace) -> Iterator[Symptom]:
    """Whether unknown events may be the device's work."""
    has_device = Capability.DEVICE in trace.capabilities
    alone = [one for one in trace.unknown_categories if one.alone]
    count = sum(one.alone for one in alone)
    if count >= max(_MIN_EVENTS, _MIN_RATIO * (len(trace.kernels) if has_device else len(trace.ops))):
        yield Symptom(
            "PG005",
            Gravity.CAUTION if has_device else Gravity.UNUSABLE,
            f"{count:,} timed events of {_named(alone)} are on threads of their own: they may be a device's work"
            + (
                ", of which a part is then missing."
                if has_device
                else ", and then nothing here tells what training waits for."
            ),
            _FIX,
            count,
        )
    taken = [one for one in trace.unknown_categories if one.as_device_work]
    count = sum(one.events for one in taken)
    if count >= max(_MIN_EVENTS, _MIN_RATIO * len(trace.kernels)):
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            f"{count:,} of {len(trace.kernels):,} kernels are events of {_named(taken)}: taken for device work because they name a "
            "device or a stream.",
            _FIX,
            count,
        )


def _named(some: Iterable[UnknownCategory]) -> str:
    names = [one.category or "no category" for one in sorted(some, key=lambda one: -one.events)]
    return (
        f"categories that advisor does not know ({', '.join(names[:_LISTED])}{', ...' if len(names) > _LISTED else ''})"
    )
