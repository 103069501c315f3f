"""PG002 warmup-recorded: warm-up is inside the recording.

## What it finds
Start-up work that steady training does not repeat takes at least 5 % of the used steps: memory and streams being
created, modules loaded, kernels chosen, code compiled; or a first collective that waits for the other ranks' profilers.

## Why it costs time
It costs time once, not in every step, and it hides the real bottleneck: with warm-up in the window the loader's share of
one program was 6 %; scheduled recordings of the same program showed 24-40 %.

## How it is measured
Union of allocation, creation, module-load and capture calls, of compile ranges and of launches that take 100 times the
median while the device idles, as a share of the used steps. Each is judged by what the steps do: warm-up is what a step of
the first half does at least twice as long as any of the second half, or one step twice as long as any other; the rest is a habit.
With fewer than three steps, memory that is taken and given back all through them is one.

## Example
Misleading:

```python
with profile() as prof:
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
1. Let some steps pass before recording: `schedule(wait=5, warmup=2, active=6, repeat=1)`.
2. `advisor collect` waits for 20.
3. `advisor explain --steps A-B` leaves early steps out of a recording that exists.

## Expected gain
None: later steps do not contain it. It does lower the confidence of everything else.

## When it is wrong
Shapes that change in every step make allocations and compilation a habit: that is a loss, and other rules name it.

## Thresholds
None to set: 5 % of the used steps, the limit of `analyzer/facts/health/steps/warmup.py`.

## References
- kineto issue 328
- https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.health.steps.warmup import WARMUP_SHARE
from analyzer.finding import Finding, Outcome
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.units import share
from rules.profiling.report import report, scheduled

META = RuleMeta(
    code="PG002",
    name="warmup-recorded",
    family="profiling",
    title="Warm-up is inside the recording",
    references=("https://docs.pytorch.org/docs/stable/profiler.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the symptom PG002 exists."""
    yield from report(
        facts,
        META.code,
        f"start-up calls take {share(facts.steps.ratio(facts.health.warmup.time.total_ns))} of the used steps, "
        f"below {share(WARMUP_SHARE)}",
        (scheduled(facts),),
    )


RULE = Rule(META, check, __doc__)
