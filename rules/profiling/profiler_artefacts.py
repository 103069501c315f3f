"""PG008 profiler-artefacts: the profiler's own work is in the trace.

## What it finds
Pauses of the profiler itself (buffer requests and flushes) while the device idles, calls without a valid name, kernels longer than
two whole steps, or beside many later ones of their stream, ops and calls that outlast the step in which they began, kernels
that seem to start before they are launched, device work that goes on after a call has waited for its end, start times that were
rounded, and times in another unit than microseconds.

## Why it costs time
That time would not exist without the profiler. It is booked as unexplained, never as somebody's loss. Where the clocks of host and
device disagree, what the host did while the device idled is off by as much, and the launch lead means nothing.

## How it is measured
Events of category `overhead` inside device-idle time, at least 1 % of the used steps; runtime calls named `INVALID`; kernels
against twice the median step and the longest that they run in, but for those behind which what was launched meanwhile queues on
their stream; ops and calls of a thread that go on for a whole step or more after the end of the `ProfilerStep` in
which that thread began them; kernels whose start lies before the start of their launch call, where they are more than 5 % of all
launched in the used steps; launched kernels more than 20 times as long as the median of their stream, while 16 or more later ones
of it begin; work that ends over 10 us after a `cudaDeviceSynchronize` (`hipDeviceSynchronize`) that began after its launch. Both
clocks are too far apart for any advice where kernels start early, or five pieces of work or more end late, by a tenth of the step.
Nor is there advice where the work of streams takes twice as long as passes meanwhile; where half of all kernels take less than
0.5 us, or of all ops less than 50 ns; or where start times are multiples of more than 1 us, at least as much as half of the
events take, and 30 % of them begin together with another one. Launch calls of which nearly all take over 1 ms are worth caution.

## Example
Misleading:

```python
prof = profile(with_stack=True, profile_memory=True, schedule=schedule(wait=1, warmup=1, active=100))
```

Reliable:

```python
prof = profile(schedule=schedule(wait=5, warmup=2, active=6, repeat=1))
```

## Fix
1. Record fewer steps and fewer details.
2. A warm-up of two steps lets the profiler allocate its buffers before recording.

## Expected gain
None: without the profiler it is not there.

## When it is wrong
`Lazy Function Loading` is listed as overhead but is the program's own warm-up (PG002).

## Thresholds
None to set: 1 % of the used steps, 5 % of the kernels and whole steps, the limits of
`analyzer/facts/health/disturbance/artefacts.py`, `analyzer/facts/device/launches.py`, and of the files in
`analyzer/facts/health/clocks`.

## References
- Nsight Systems release notes; TensorBoard profiler plugin
- https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Finding, Outcome
from analyzer.rule import Limits, Rule, RuleMeta
from rules.profiling.report import plain, report

META = RuleMeta(
    code="PG008",
    name="profiler-artefacts",
    family="profiling",
    title="The profiler's own work is recorded",
    references=("https://docs.pytorch.org/docs/stable/profiler.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the symptom PG008 exists."""
    yield from report(
        facts, META.code, "the profiler's own pauses take next to nothing of the idle time", (plain(facts),)
    )


RULE = Rule(META, check, __doc__)
