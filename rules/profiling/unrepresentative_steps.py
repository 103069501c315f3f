"""PG006 unrepresentative-steps: first or last step is unlike the rest.

## What it finds
A first step more than 1.2 times as long as the median, one that was recorded only from its middle on, one whose first
collective waits for the other ranks' profilers, a last one that was cut off, a mark without any work: they are left out of all
figures.

## Why it costs time
The first recorded step often starts the loader's workers or fills the device's queue; the last one loses the kernels
that ran after recording stopped. In a mean of six steps one such step moves everything.

## How it is measured
Step times against their median; of fewer than four steps the first is left out only where start-up calls explain what it takes
more. Device events of the last step against the one before (fewer than 80 %: cut off); ops and device events of the first and
of the last against every other step (fewer than 80 % of both: it lacks its beginning or its end, or does less). What the last step
is silent for at its end against what the others are (longer by 20 % of the median step and 10 ms: cut off, or standing still).

## Example
Misleading:

```python
prof = profile(schedule=schedule(wait=0, warmup=0, active=3))
```

Reliable:

```python
prof = profile(schedule=schedule(wait=5, warmup=2, active=6, repeat=1))
```

## Fix
1. Start later and warm up: `schedule(wait=5, warmup=2, active=6, repeat=1)`.
2. Record in the middle of an epoch.

## Expected gain
None: the steps are left out already.

## When it is wrong
A first step that is slow in every epoch is a real cost of short epochs (DL005).

## Thresholds
None to set: 1.2, 80 %, 20 % and 10 ms, the limits of `analyzer/facts/steps/left_out.py` and `ends.py`.

## References
- TensorBoard profiler plugin drops trailing steps below 80 %; HolisticTraceAnalysis drops the last iteration
- https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.steps.find import WHOLE_TRACE
from analyzer.finding import Finding, Outcome
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.units import count
from rules.profiling.report import report, scheduled

META = RuleMeta(
    code="PG006",
    name="unrepresentative-steps",
    family="profiling",
    title="First or last step is unlike the rest",
    references=("https://docs.pytorch.org/docs/stable/profiler.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the symptom PG006 exists."""
    found = (
        "nothing tells steps apart: the recording is taken as one"
        if facts.steps.source == WHOLE_TRACE
        else f"{count(len(facts.steps.frame), facts.steps.noun)} found, none left out"
    )
    yield from report(facts, META.code, found, (scheduled(facts),))


RULE = Rule(META, check, __doc__)
