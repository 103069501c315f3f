"""PG005 events whose durations the file does not tell: the device looks idle, or whatever stands beside them decides."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts.health.complete.coverage import LOST_CAUTION
from analyzer.facts.health.complete.repairs import UNTOUCHED
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.units import share
from traces.trace import Trace

# Fewer say nothing of the others.
_MIN_EVENTS = 20
_FIX = f"check that no other profiler is attached, and {UNTOUCHED}"


def check(trace: Trace) -> Iterator[Symptom]:
    """Ops, calls or device work without durations, all of them or many."""
    for name, what in (("ops", "ops"), ("runtime", "calls"), ("kernels", "kernels"), ("copies", "copies")):
        frame = getattr(trace, name)
        unfinished = trace.unfinished.get(name, 0)
        if len(frame) < _MIN_EVENTS:
            continue
        if not int(frame["dur_ns"].sum()):
            message = f"None of {len(frame):,} {what} has a duration: what took the time is not known."
        # What is made up is not spread evenly: from where shares are doubtful on, these are worthless.
        elif unfinished >= LOST_CAUTION * len(frame):
            message = (
                f"{unfinished:,} of {len(frame):,} {what} ({share(unfinished / len(frame))}) have no end: their times are made up "
                "from what stands beside them."
            )
        else:
            continue
        yield Symptom("PG005", Gravity.UNUSABLE, message, _FIX, len(frame))
