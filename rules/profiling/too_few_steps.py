"""PG003 too-few-steps: too few steps are recorded.

## What it finds
Fewer than three steps of the recording can be used.

## Why it costs time
With one or two steps a slow step cannot be told from a slow program: one pause of the system or one epoch's start
changes every share.

## How it is measured
Number of marked steps that are complete and typical (neither empty, nor cut off, nor a slow first one). Severity is
capped at medium below three.

## Example
Misleading:

```python
with profile(schedule=schedule(wait=1, warmup=1, active=1)) as prof:
    for batch in loader:
        train_step(batch)
        prof.step()
```

Reliable:

```python
with profile(schedule=schedule(wait=5, warmup=2, active=6, repeat=1)) as prof:
    for batch in loader:
        train_step(batch)
        prof.step()
```

## Fix
1. Record six steps: `active=6`.
2. Do not stop the loop before the schedule has ended.

## Expected gain
None: it makes figures trustworthy, not the program faster.

## When it is wrong
Steps of many seconds are few by nature; two of them can still tell the truth.

## Thresholds
None to set: three steps, the limit of `analyzer/facts/health/steps/few.py`.

## References
- TraceML warns from 2 steps
- https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.health.steps.few import ENOUGH_STEPS
from analyzer.finding import Finding, Outcome, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.units import count
from rules.profiling.report import report, scheduled

META = RuleMeta(
    code="PG003",
    name="too-few-steps",
    family="profiling",
    title="Too few steps are recorded",
    references=("https://docs.pytorch.org/docs/stable/profiler.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the symptom PG003 exists."""
    if not facts.steps.marked:
        yield not_applicable("the program marks no steps (PG001)")
        return
    yield from report(
        facts,
        META.code,
        f"{count(facts.steps.count, 'step')} can be used, at least {ENOUGH_STEPS} are asked for",
        (scheduled(facts),),
    )


RULE = Rule(META, check, __doc__)
