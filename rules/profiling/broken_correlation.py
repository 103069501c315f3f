"""PG007 broken-correlation: kernels do not link to their launches.

## What it finds
Kernels whose ids repeat the correlation id (torch 1.13-2.2), or of which more than 20 % have no launch call in the
trace; and ranks merged into one file, whose ids collide.

## Why it costs time
The link tells which code made the device wait. Without it idle time has no cause and stays unexplained.

## How it is measured
Kernels joined with calls on `correlation`; equal external ids counted. Flow events are never used. Ranks were merged
where two processes launch work, or where 30 % of the launches repeat another one's id: then there is no advice. Nor is
there where 5 % of the operators begin inside another one, or a call, of their thread and end after it: threads of several ranks
are one there. Ranges of the program may cross, as those of asyncio's tasks do.

## Example
Misleading:

```python
prof = profile(activities=[ProfilerActivity.CUDA])
```

Reliable:

```python
prof = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
```

## Fix
1. Record both kinds of activity, and start before the first launch.
2. torch 2.3 or newer writes correct ids.
3. One file per rank; `advisor explain FOLDER` reads them together.

## Expected gain
None: more of the idle time gets a cause.

## When it is wrong
Repeated ids are harmless here: ops are found through the launch call. Kernels launched before recording began have no
call.

## Thresholds
None to set: 20 % of the kernels, the limit of `analyzer/facts/health/linked/correlation.py`.

## References
- kineto pull requests 846 and 1001
- https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Finding, Outcome
from analyzer.rule import Limits, Rule, RuleMeta
from rules.profiling.report import report, scheduled

META = RuleMeta(
    code="PG007",
    name="broken-correlation",
    family="profiling",
    title="Kernels do not link to their launches",
    references=("https://docs.pytorch.org/docs/stable/profiler.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the symptom PG007 exists."""
    yield from report(facts, META.code, "kernels link to their launches", (scheduled(facts),))


RULE = Rule(META, check, __doc__)
