"""DL008 too-many-workers: more worker processes than cores beside the training process, or than memory has room for.

## What it finds
A loader with more workers than the machine has cores to run them on, while training waits for it; and workers that leave
hardly any memory.

## Why it costs time
Workers above the number of cores take turns with each other and with the training thread, which then launches late. Each
holds its own copy of the dataset's Python objects and `prefetch_factor` batches: memory, and time to start. Where memory
runs out, files are read from disk again, and then the system ends a worker: "DataLoader worker (pid ...) is killed by signal".

## How it is measured
`num_workers` and cores as recorded by `advisor collect`, and the host time inside `__next__` as a share of the step. What
the competition costs cannot be told from one recording, so there is no bound: compare two. Memory: what each worker holds
alone, and what is left of the machine's or the container's, as `advisor collect SCRIPT` samples them beside the profiler.

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
2. Keep lists of a data set in arrays: reading a Python object counts its users, and so copies its memory to each worker.

## Expected gain
Not known from one trace; memory is saved in any case: workers x (dataset's objects + prefetched batches).

## When it is wrong
Workers that mostly wait for storage need no core: there more workers than cores can be right. Where `advisor collect` sampled
that together they use no more cores than there are, the rule is silent on cores. Other programs may be what fills the memory:
the rule speaks of it only where the workers hold more than what is left.

## Thresholds
- `min_ratio`: share of the used steps inside `__next__` from which the rule fires.
- `min_left_ratio`: share of the memory below which too little is left.

## References
- DataLoader's own warning about the suggested number of workers
- https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
- earlyoom ends programs where less than 10 % of the memory is left
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share, size
from rules.data_loading import words

META = RuleMeta(
    code="DL008",
    name="too-many-workers",
    family="data_loading",
    title="More workers than cores or memory",
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "as DL001: where nothing waits for the loader, workers cost only memory"),
        Threshold("min_left_ratio", 0.10, "ratio", "where earlyoom begins to end programs"),
    ),
    references=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
    outside=("workers",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires for cores and for memory, each for its own reason."""
    if not facts.input.wait.multi_process:
        yield not_applicable("no batches from worker processes in the used steps")
        return
    memory, cores = _for_memory(facts, limits), _for_cores(facts, limits)
    if memory is not None:
        yield memory
    if memory is None or isinstance(cores, Finding):
        yield cores


def _for_memory(facts: Facts, limits: Limits) -> Finding | None:
    """The workers hold more than is left, and little is left; None where not, or where nobody sampled it."""
    run = facts.recording.collected
    workers, each, total, left = run.num_workers, run.worker_private_bytes, run.memory_bytes, run.memory_available_bytes
    if not workers or not each or not total or left is None:
        return None
    wanted = limits["min_left_ratio"] * total
    if left >= wanted or workers * each <= left:
        return None
    fewer = max(1, workers - math.ceil((wanted - left) / each))
    return Finding(
        why=f"{count(workers, 'worker')} hold {size(workers * each)} of memory, {size(each)} each, and only {size(left)} of "
        f"{size(total)} ({share(left / total)}) are left: when that runs out, the system ends a worker.",
        saving=Saving(basis="memory costs no time until it runs out"),
        fix=(
            *(
                (_set_workers(facts, workers, fewer, "Each worker less gives its memory back."),)
                if fewer < workers
                else ()
            ),
            Advice(
                "text",
                "Keep lists of paths, labels or records in one NumPy array or tensor: reading a Python object counts its users, "
                "and so copies its memory to each worker.",
            ),
        ),
        verify="Record again: the memory that is left should grow, and the step should not become longer.",
        steps_seen=facts.input.wait.steps_seen,
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars("memory", "bytes", (Bar("workers alone", workers * each), Bar("left", left), Bar("in all", total))),
        ),
        title="Loader workers fill the memory",
    )


def _for_cores(facts: Facts, limits: Limits) -> Finding | Outcome:
    """More workers than cores - 1 while the training thread spends time waiting for them."""
    wait, cores, workers = facts.input.wait, facts.recording.collected.cores, facts.recording.collected.num_workers
    if cores is None or workers is None:
        return cannot_tell("cores and workers are not in the trace; `advisor collect` records them")
    room = max(cores - 1, 1)
    if workers <= room:
        return clear(f"{count(workers, 'worker')} on {count(cores, 'core')}")
    used = facts.recording.collected.worker_cpu_ratio
    if used is not None and workers * used <= room:
        return clear(
            f"{count(workers, 'worker')} together use {workers * used:.1f} of {count(cores, 'core')}: they mostly wait"
        )
    ratio = facts.steps.ratio(wait.host.total_ns)
    if ratio < limits["min_ratio"]:
        return clear(
            f"{count(workers, 'worker')} on {count(cores, 'core')}, but waiting for them takes only {share(ratio)} of the step"
        )
    return Finding(
        why=f"{count(workers, 'worker')} and the training process share {count(cores, 'core')}, and still each step waits "
        f"{duration(facts.steps.per_step(wait.host.total_ns))} ({share(ratio)}) for a batch.",
        saving=Saving(basis="what the competition for cores costs cannot be told from one recording"),
        fix=(
            _set_workers(
                facts, workers, room, "Record both and run `advisor compare`; fewer workers also need less memory."
            ),
        ),
        verify="Record again with fewer workers and run `advisor compare`: the step should not become longer.",
        steps_seen=wait.steps_seen,
        confidence=Confidence.LOW,
    )


def _set_workers(facts: Facts, now: int, then: int, note: str) -> Advice:
    return words.loader(facts, {"num_workers": then}, note, removed={"num_workers": now})


RULE = Rule(META, check, __doc__)
