"""DL003 starved-by-workers: worker processes deliver batches more slowly than training takes them.

## What it finds
A loader with worker processes for which training still waits, over a millisecond in at least half of the steps.

## Why it costs time
Workers load ahead, but only so far: when all of them together need longer for a batch than training does, the queue runs
empty and every step waits for the next batch.

## How it is measured
Calls of `_MultiProcessingDataLoaderIter.__next__`: median wait, share of calls over 1 ms, and the device-idle time inside them.
Of the first call, which may hold the start of the workers, no more counts than the others take. A wait that comes in bursts is
DL004, a single long one DL005.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=2)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=8, prefetch_factor=4, persistent_workers=True)
```

## Fix
1. More workers, as long as cores are idle: never more than cores - 1.
2. One thread a worker: libraries that start their own (OpenCV) make workers fight for cores.
3. Cheaper samples: decode and resize once, offline.
4. Augment and decode on the device.

## Expected gain
At most the idle time inside the calls, and behind them as much as they took beside a busy device. With W workers a batch costs
about W x (step + wait) of one core.

## When it is wrong
About a millisecond a step is the handing over of a batch, pinned or not, and no starvation. Whether the workers wait for
the processor or for the disk cannot be seen in a trace: their work happens in other processes.

## Thresholds
- `min_ratio`: share of the used steps that waiting owns from which the rule fires.
- `min_wait_ns`: median wait from which a step is starved.
- `min_waiting_ratio`: share of the calls that wait over a millisecond.

## References
- SageMaker Debugger CPUBottleneck and IOBottleneck; gpuprof: over 30 ms in 20 % of the steps
- https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.input.wait_pattern import WAITING_NS, WaitPattern
from analyzer.finding import Finding, Outcome, Saving, Series, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.data_loading import place
from rules.data_loading.advice import COMPUTING_RATIO, feed_workers, workers_wait_for_storage
from rules.data_loading.bursts import is_bursty
from rules.data_loading.packed import packed

META = RuleMeta(
    code="DL003",
    name="starved-by-workers",
    family="data_loading",
    title="Loader workers cannot keep up",
    binds=("input",),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "as DL001: below, the loader is not what limits the step"),
        Threshold("min_wait_ns", WAITING_NS, "ns", "handing a batch over takes up to 1.3 ms in healthy recordings"),
        Threshold("min_waiting_ratio", 0.5, "ratio", "rarer waits come in bursts (DL004); gpuprof asks for 20 %"),
    ),
    explains=("DL001",),
    references=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
    measured=True,
    outside=("workers", "prefetch"),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where most steps wait for worker processes."""
    wait = facts.input.wait
    if not wait.multi_process:
        yield not_applicable("no batches from worker processes in the used steps")
        return
    settled = facts.input.settled
    later = settled.after_first()
    owned = wait.owned & (later.spans | _first(settled, later.median_ns))
    ratio = facts.steps.ratio(owned.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"waiting for workers owns {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    if later.median_ns < limits["min_wait_ns"] or later.waiting_ratio < limits["min_waiting_ratio"] or is_bursty(later):
        yield clear(
            f"the median wait is {duration(later.median_ns)} and {share(later.waiting_ratio)} of the calls wait over 1 ms: "
            "no steady starvation"
        )
        return
    crowded = facts.recording.collected.workers_crowded_ratio
    if crowded is not None:
        yield cannot_tell(
            f"training waits {duration(later.median_ns)} (median) for a batch, but the workers could run and had no core for "
            f"{share(crowded)} of the time: other programs had them; record on a quiet machine"
        )
        return
    workers = facts.recording.collected.num_workers
    yield Finding(
        why=f"{'The GPU' if facts.device.main else 'Training'} waits {duration(later.median_ns)} (median) for a batch in "
        f"{share(later.waiting_ratio)} of the steps although worker processes load"
        + (f" ({count(workers, 'worker')})" if workers else "")
        + f": {share(ratio)} of the step."
        + _limit(facts, workers, later.pace_ns)
        + place.sentence(facts),
        saving=Saving(
            owned,
            behind=facts.sync.behind(wait.inside - facts.input.starting),
            basis="idle time inside the loader's `__next__`; reached only if workers always stay ahead",
        ),
        fix=feed_workers(facts),
        verify="Record again: the median `__next__` should fall below 1 ms; then run `advisor compare`.",
        steps_seen=wait.steps_seen,
        evidence=(
            Series("each call of the loader", "ns", wait.durations_ns),
            *place.evidence(facts),
        ),
        location=place.place(facts),
        caveats=()
        if facts.recording.collected.worker_cpu_ratio is not None or packed(facts)
        else ("A trace does not show whether the workers wait for the processor or for the disk: look at both.",),
    )


def _first(pattern: WaitPattern, usual_ns: float) -> IntervalSet:
    """Of the first call as much as the others take: it may hold the start of the workers, but waits like them as well."""
    return pattern.beginning(usual_ns)


def _limit(facts: Facts, workers: int | None, pace_ns: float) -> str:
    """What keeps the workers from being faster, as far as `advisor collect` saw it."""
    used = facts.recording.collected.worker_cpu_ratio
    wants = facts.recording.collected.worker_wants_ratio
    if used is None or wants is None:
        return f" A batch costs about {duration(workers * pace_ns)} of one core." if workers else ""
    if wants >= COMPUTING_RATIO:
        return f" Each worker uses {share(used)} of a core: the processor limits them."
    if workers_wait_for_storage(facts):
        return (
            f" Each worker uses {share(used)} of a core: they wait, for storage or the network, more than they compute."
        )
    return f" Each worker uses {share(used)} of a core, and waits the rest of the time."


RULE = Rule(META, check, __doc__)
