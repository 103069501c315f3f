"""PG001 missing-step-marks: steps are not marked.

## What it finds
A recording without `ProfilerStep` marks: nobody told the profiler where a training step ends.

## Why it costs time
Every figure is a mean per step. Without marks the whole recording, warm-up and all, counts as one step: a loss that
matters looks small, and start-up work looks like a loss.

## How it is measured
No event is named `ProfilerStep#N`. Steps are then told by what repeats: ranges that frameworks write around an iteration, the
optimizer, the loader, ranges of your own that take at least four fifths of what the host does, the forward pass; at last the
longest sequence of kernels that repeats and covers the recording. What may be a layer of the model is no step: where nothing is
sure to be one, the whole recording is. Three steps or more that the program itself tells apart are as good as marked ones, but
for one doubt more. Where only kernels repeat, or nothing, all findings are capped at low severity and low confidence, and say
so.

## Example
Misleading:

```python
with profile() as prof:
    for batch in loader:
        train_step(batch)
```

Reliable:

```python
with profile(schedule=schedule(wait=5, warmup=2, active=6, repeat=1)) as prof:
    for batch in loader:
        train_step(batch)
        prof.step()
```

## Fix
1. Call `prof.step()` after every iteration and pass a `schedule`.
2. Or let `advisor collect` do it.

## Expected gain
None: the program does not become faster, the advice becomes reliable.

## When it is wrong
A recording of inference has no training steps; mark requests the same way. Batches of a loader are no requests, nor are passes
inside what is called `validate` or `evaluate`: those are steps of an evaluation. Such steps beside some that train are left out.

## Thresholds
None to set: a mark is there or not.

## References
- HolisticTraceAnalysis requires the marks; NVIDIA DLProf: "unable to split profile into training iterations"
- https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Finding, Outcome
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.units import count
from rules.profiling.report import report, scheduled

META = RuleMeta(
    code="PG001",
    name="missing-step-marks",
    family="profiling",
    title="Steps are not marked",
    references=("https://docs.pytorch.org/docs/stable/profiler.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the symptom PG001 exists."""
    # In an engine's loop there is no place for a mark.
    served = facts.recording.serving_engine is not None
    steps, noun = facts.steps, facts.steps.noun
    how = "told by ranges of the engine" if served else "marked"
    marked = f"{count(len(steps.frame), f'{noun} is', f'{noun}s are')} {how}"
    yield from report(facts, META.code, marked, () if served else (scheduled(facts),))


RULE = Rule(META, check, __doc__)
