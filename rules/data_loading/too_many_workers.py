"""DL008 too-many-workers: more worker processes than cores beside the training process.

## What it finds
A loader with more workers than the machine has cores to run them on, while training waits for it.

## Why it costs time
Workers above the number of cores take turns with each other and with the training thread, which then launches late. Each
holds its own copy of the dataset's Python objects and `prefetch_factor` batches: memory, and time to start.

## How it is measured
`num_workers` and cores as recorded by `advisor collect`, and the host time inside `__next__` as a share of the step. What
the competition costs cannot be told from one recording, so there is no bound: compare two.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=32)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=max(1, len(os.sched_getaffinity(0)) - 1))
```

## Fix
1. At most cores - 1 workers (divided by the processes on the machine when each has a GPU); often fewer are as fast.

## Expected gain
Not known from one trace; memory is saved in any case: workers x (dataset's objects + prefetched batches).

## When it is wrong
Workers that mostly wait for storage need no core: there more workers than cores can be right. Where `advisor collect` sampled
that together they use no more cores than there are, the rule is silent.

## Thresholds
- `min_ratio`: share of the used steps inside `__next__` from which the rule fires.

## References
- DataLoader's own warning about the suggested number of workers
- https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share

META = RuleMeta(
    code="DL008",
    name="too-many-workers",
    family="data_loading",
    title="More loader workers than cores",
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "as DL001: where nothing waits for the loader, workers cost only memory"),
    ),
    references=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires with more workers than cores - 1 while the training thread spends time waiting for them."""
    wait, cores, workers = facts.input_wait, facts.collected.cores, facts.collected.num_workers
    if not wait.multi_process:
        yield not_applicable("no batches from worker processes in the used steps")
        return
    if cores is None or workers is None:
        yield cannot_tell("cores and workers are not in the trace; `advisor collect` records them")
        return
    room = max(cores - 1, 1)
    if workers <= room:
        yield clear(f"{count(workers, 'worker')} on {count(cores, 'core')}")
        return
    used = facts.collected.worker_cpu_ratio
    if used is not None and workers * used <= room:
        yield clear(
            f"{count(workers, 'worker')} together use {workers * used:.1f} of {count(cores, 'core')}: they mostly wait"
        )
        return
    ratio = facts.ratio(wait.host.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"{count(workers, 'worker')} on {count(cores, 'core')}, but waiting for them takes only {share(ratio)} of the step"
        )
        return
    yield Finding(
        why=f"{count(workers, 'worker')} and the training process share {count(cores, 'core')}, and still each step waits "
        f"{duration(facts.per_step(wait.host.total_ns))} ({share(ratio)}) for a batch.",
        saving=Saving(basis="what the competition for cores costs cannot be told from one recording"),
        fix=(
            Advice(
                "diff",
                f" loader = DataLoader(\n     dataset, ...,\n-   num_workers={workers},\n+   num_workers={room},\n )",
                "Record both and run `advisor compare`; fewer workers also need less memory.",
            ),
        ),
        verify="Record again with fewer workers and run `advisor compare`: the step should not become longer.",
        steps_seen=wait.steps_seen,
        confidence=Confidence.LOW,
    )


RULE = Rule(META, check, __doc__)
