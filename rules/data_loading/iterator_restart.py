"""DL005 iterator-restart: the loader's worker processes are started again inside the recording.

## What it finds
One call of a loader with workers that takes at least ten times as long as the others: the beginning of an epoch.

## Why it costs time
`iter(loader)` starts every worker process, which imports the program and copies the dataset, and then waits until the first
batch is made. Without `persistent_workers` that happens at every epoch.

## How it is measured
Durations of `_MultiProcessingDataLoaderIter.__next__` in the used steps: one call of at least 10 times the median of the
others, whose idle time is at least 5 % of the used steps; or, with stacks, a call of `_get_iterator`. It costs once an epoch:
the bound counts the share of an epoch that was recorded where `advisor collect` recorded the size of the data; otherwise
the severity is low at most.

## Example
Slow:

```python
for epoch in range(epochs):
    for batch in DataLoader(dataset, batch_size=64, num_workers=8):
        train_step(batch)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=8, persistent_workers=True)
for epoch in range(epochs):
    for batch in loader:
        train_step(batch)
```

## Fix
1. `persistent_workers=True`, and one loader for all epochs.
2. Fewer, longer epochs.

## Expected gain
Per epoch the wait beyond a usual call; per step that divided by the steps of an epoch.

## When it is wrong
The first batch of a training run always waits for the workers: record in the middle of an epoch. A slow sample looks the
same when only one of them is in the recording (DL004).

## Thresholds
- `min_times`: multiple of the other calls' median from which a call is a restart.
- `min_ratio`: idle time in that call as a share of the used steps.

## References
- Lightning's warning about persistent_workers
- https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.loading import restart_seen, steps_per_epoch
from analyzer.finding import (
    Advice,
    Confidence,
    Finding,
    Outcome,
    Saving,
    Series,
    Severity,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share

META = RuleMeta(
    code="DL005",
    name="iterator-restart",
    family="data_loading",
    title="Loader workers are started again",
    thresholds=(
        Threshold("min_times", 10, "count", "measured starts: 81.8 ms against 1.7 ms, 4.3 ms against 0.08-1.4 ms"),
        Threshold("min_ratio", 0.05, "ratio", "as DL001: below, the loader is not what limits the step"),
    ),
    explains=("DL001",),
    references=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
)

_FEW_CALLS = 3
_SPREAD = "spread over the steps of an epoch"
_NOT_SPREAD = "as if every recording of this length had one: an epoch is longer"


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires on a single call far longer than all others."""
    wait, pattern = facts.input_wait, facts.wait_pattern
    if not wait.multi_process:
        yield not_applicable("no batches from worker processes in the used steps")
        return
    if len(pattern.dur_ns) < _FEW_CALLS:
        yield cannot_tell(f"needs at least {_FEW_CALLS} batches in the used steps: schedule(..., active=6)")
        return
    late = pattern.longer_than(limits["min_times"])
    claims = wait.owned & pattern.beyond(late, pattern.median_ns)
    ratio = facts.ratio(claims.total_ns)
    if len(late) != 1 or ratio < limits["min_ratio"]:
        longest = duration(float(pattern.dur_ns.max()))
        yield clear(
            f"the longest call takes {longest}, the median {duration(pattern.median_ns)}: {share(ratio)} of the steps"
        )
        return
    epoch = steps_per_epoch(facts)
    once = min(1.0, facts.used_steps / epoch) if epoch else 1.0
    yield Finding(
        why=f"One call of the loader takes {duration(float(pattern.dur_ns[late[0]]))}, the others {duration(pattern.median_ns)}: "
        "workers are started and the first batch is made. It costs once an epoch"
        + (f" of {epoch:,} steps." if epoch else "; how long an epoch is was not recorded."),
        saving=Saving(
            claims.scaled(once),
            basis=f"idle time in that call beyond a median one, {_SPREAD if epoch else _NOT_SPREAD}",
        ),
        fix=_FIX,
        verify="Record across the end of an epoch again: no call should stand out.",
        steps_seen=1,
        confidence=_confidence(facts, int(late[0])),
        evidence=(Series("each call of the loader", "ns", tuple(pattern.dur_ns.tolist())),),
        severity_cap=Severity.HIGH if epoch else Severity.LOW,
        caveats=()
        if restart_seen(facts)
        else ("A single slow sample looks the same; with stacks the restart itself would be seen.",),
    )


def _confidence(facts: Facts, position: int) -> Confidence:
    """Seen in a stack it is sure; at the recording's start likely; elsewhere a slow sample is as likely."""
    if restart_seen(facts):
        return Confidence.HIGH
    return Confidence.MEDIUM if position == 0 else Confidence.LOW


_FIX = (
    Advice(
        "diff",
        "+loader = DataLoader(dataset, ..., persistent_workers=True)\n for epoch in range(epochs):\n"
        "-    loader = DataLoader(dataset, ...)\n     for batch in loader:\n         train_step(batch)",
        "Keeps the worker processes, their imports and their copy of the dataset from epoch to epoch.",
    ),
)

RULE = Rule(META, check, __doc__)
