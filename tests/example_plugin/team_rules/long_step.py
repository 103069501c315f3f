"""TM001 long-step: a step takes longer than the team allows.

## What it finds
A mean step above the team's budget.

## Why it costs time
It is the time.

## How it is measured
Mean duration of the used steps.

## Example
Slow:

```python
batch_size = 4096
```

Faster:

```python
batch_size = 1024
```

## Fix
1. See the other findings.

## Expected gain
Step less budget.

## When it is wrong
The budget is a choice.

## Thresholds
- `budget_ns`: what a step may take.

## References
- our own agreement
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Finding, Outcome, Saving, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration

META = RuleMeta(
    code="TM001",
    name="long-step",
    family="team",
    title="The step is over the team's budget",
    thresholds=(Threshold("budget_ns", 50e6, "ns", "agreed for the nightly job"),),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the mean step is over the budget."""
    mean = facts.steps.per_step(facts.steps.total_ns)
    if mean <= limits["budget_ns"]:
        yield clear(f"a step takes {duration(mean)}, within {duration(limits['budget_ns'])}")
        return
    yield Finding(
        why=f"A step takes {duration(mean)}, the budget is {duration(limits['budget_ns'])}.",
        saving=Saving(),
        fix=(Advice("text", "Look at the other findings."),),
        verify="Record again: TM001 is clear.",
        steps_seen=facts.steps.count,
    )


RULE = Rule(META, check, __doc__)
