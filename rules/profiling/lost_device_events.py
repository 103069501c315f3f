"""PG005 lost-device-events: device activity is missing.

## What it finds
A recording without device work although there is a device, with a part of it lost, with device work only, or with
nothing.

## Why it costs time
Where kernels are missing the device seems to idle. Every share of idle time is then wrong, and so is the advice.

## How it is measured
Launches of the used steps whose kernel is not in the file: from 10 % caution, from 50 % no advice at all. Where no launch
has the id of a kernel, the ids may be what is broken: then every kernel in the file counts as that of some launch. A step that
lost half of its kernels is left out where another lost next to none. Where 10 % of the matrix products, convolutions and kin, of
20 or more, launch nothing at all, caution: in recorded traces all of them do. Graph launches with less than half the kernels of
the graph's other replays: the step is left out; where none is whole, from 10 % missing kernels no advice. Events of
categories that advisor does not know, on threads that hold nothing else, may be the work of a device: where at least 20, and
at least 10 % as many as there are ops, there is no advice; beside device work that is known, caution. Of a file that ends
early, whether its events stand in the order of time: kineto writes device work behind all ops, so that what is lost may be of
any step, and there is no advice. The same where 10 % of the ops, calls, kernels or copies have no end, or none a duration. Where
numbers of ops and ranges, which torch counts without holes, are missing between those in the file, from 10 % caution: it was
filtered or thinned out, and what was left out looks like time outside ops; from 50 % nobody is blamed for that time. Calls that
wait for the device for 1 ms or more after all recorded work is done: in recorded traces they return within 0.3 ms; what goes on
for longer is no wait that the program could do without, and from 10 % of the used steps on caution. And which kinds of events
exist at all: ops and memory that only a device has (`aten::_mps_convolution`, `aten::cudnn_convolution`),
or calls of a runtime, without any work of a device.

## Example
Misleading:

```python
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3)) as prof:
    train(prof)
prof.export_chrome_trace("trace.json")
```

Reliable:

```python
with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
    schedule=schedule(wait=5, warmup=2, active=6, repeat=1),
    on_trace_ready=lambda prof: prof.export_chrome_trace("trace.json"),
) as prof:
    train(prof)
```

## Fix
1. Record CPU and CUDA activity together.
2. `repeat=1` and export in `on_trace_ready`: after the loop the next cycle has already cleared the events.
3. No second profiler (Nsight, DCGM) beside it; allow access to CUPTI.
4. Devices whose work torch.profiler does not record, such as Apple's: their maker's profiler beside it.
5. Of a file that was filtered: name it as the profiler wrote it; where that is too large record fewer steps.
6. Of a file that was cut: copy it again whole, after `export_chrome_trace` has returned.

## Expected gain
None: it makes figures right.

## When it is wrong
Launches that a graph captures have no kernel of their own; a step in which a graph is captured is left out. Products of empty
matrices, and those on the CPU in a program that also uses a device, launch nothing: the caution says so.

## Thresholds
None to set: 10 and 50 % of the launches (`analyzer/facts/health/complete/coverage.py`, `analyzer/facts/steps/faults.py`), 10 % of
the kernels of graphs (`analyzer/facts/health/complete/graphs.py`), 20 events and 10 % of categories nobody knows
(`analyzer/facts/health/complete/unknown_categories.py`), 10 % without an end, or launching nothing
(`missing_durations.py`, `missing_launches.py` beside it), 10 and 50 % of the ops' numbers (`thinned.py` beside it),
1 ms behind the last work (`analyzer/facts/host/unanswered.py`) and 10 % of it (`unanswered.py` beside `thinned.py`).

## References
- kineto issue 859
- https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Finding, Outcome
from analyzer.rule import Limits, Rule, RuleMeta
from rules.profiling.report import report, scheduled

META = RuleMeta(
    code="PG005",
    name="lost-device-events",
    family="profiling",
    title="Device activity is missing",
    references=("https://docs.pytorch.org/docs/stable/profiler.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the symptom PG005 exists."""
    yield from report(facts, META.code, "what was launched was recorded", (scheduled(facts),))


RULE = Rule(META, check, __doc__)
