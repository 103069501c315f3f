"""PG004 heavy-instrumentation: the profiler slows the steps down.

## What it finds
A recording whose options slow the host: Python stacks on a busy host, a profiled step over 1.3 times as long as one
without the profiler, or ops that do next to nothing and take longer than launch calls.

## Why it costs time
Each recorded event costs host time. Launches, Python and optimizers look slower than they are, and the device seems to
idle.

## How it is measured
Host events a millisecond of the used steps where stacks were recorded (more than 20 is a busy host), and, where
`advisor collect` timed steps without the profiler, the ratio of both step times. Beside a device also the median of ops that
only describe a tensor anew (`view`, `as_strided`), set beside that of launch calls: these take several times as long where
nothing but the profiler looks on. What a quarter of those ops takes at most, times the number of all ops, as far as the
device idles behind the host, is the share of the steps; from 10 % on findings on such idle time are doubted.

## Example
Misleading:

```python
prof = profile(with_stack=True, record_shapes=True, profile_memory=True)
```

Reliable:

```python
prof = profile(schedule=schedule(wait=5, warmup=2, active=6, repeat=1))
```

## Fix
1. Measure with a plain recording.
2. Find places with a second one of one or two steps, with stacks.

## Expected gain
None: without the profiler the program never was that slow.

## When it is wrong
On a device-bound program the slower host hides behind the device and the figures hold. Where other programs had the cores
while the steps were recorded, the slowdown may be theirs; the finding says so.

## Thresholds
None to set: 20 events a millisecond, 1.3 times, and 10 % of the steps, the limits of
`analyzer/facts/health/disturbance/instrumentation.py`.

## References
- kineto issue 325; pytorch issue 174555
- https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Finding, Outcome
from analyzer.rule import Limits, Rule, RuleMeta
from rules.profiling.report import plain, report

META = RuleMeta(
    code="PG004",
    name="heavy-instrumentation",
    family="profiling",
    title="The profiler slows the steps down",
    references=("https://docs.pytorch.org/docs/stable/profiler.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the symptom PG004 exists."""
    yield from report(facts, META.code, "no option in use slows the host noticeably", (plain(facts),))


RULE = Rule(META, check, __doc__)
