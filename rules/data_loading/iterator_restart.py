"""DL005 iterator-restart: the loader's worker processes are started again inside the recording.

## What it finds
Beginnings of epochs at which worker processes are started: the old ones are shut down, new ones started, the first batch made.

## Why it costs time
`iter(loader)` starts every worker process, which imports the program and copies the dataset, and then waits until the first
batch is made. Without `persistent_workers` that happens at every epoch.

## How it is measured
The iterator draws the workers' seed on the training thread (`aten::random_`, `aten::item`) and starts them before its first
`_MultiProcessingDataLoaderIter.__next__`; a call just before that found the old epoch at its end. Idle time in all three, and
in the calls after them while the queue (two batches a worker) fills for the first time, beyond a median call, as a share of the
used steps. On a CPU also what the ops of the first step after a start take beyond those of the other steps: forked workers
share the memory of the training, and each of its pages is copied when it is first written to. Where the draw is not in the
trace: one call of at least 10 times the median of the others at the beginning of the recording, or with stacks a call of
`_get_iterator`. It costs once an epoch: the bound counts the share of an epoch that was recorded, where `advisor collect`
recorded the size of the data or several beginnings come at equal distances; otherwise the severity is low at most.

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
Per epoch the wait for the first batch, and what the calls after it take beyond a usual one; per step that divided by the steps of
an epoch.

## When it is wrong
The first batch of a training run always waits for the workers: record in the middle of an epoch. A slow sample at the beginning
of a recording looks the same where the draw of the seed is not in it (DL004). A loader for validation that starts its workers
between epochs is counted, too; the same argument helps it.

## Thresholds
- `min_times`: multiple of the other calls' median from which a call without a seen start is one.
- `min_ratio`: idle time in the restarts as a share of the used steps.

## References
- Lightning's warning about persistent_workers
- https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from analyzer.facts import Facts
from analyzer.facts.host.restarts import epoch_steps
from analyzer.facts.input.first_writes import first_writes
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
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.data_loading import words

META = RuleMeta(
    code="DL005",
    name="iterator-restart",
    family="data_loading",
    title="Loader workers are started again",
    binds=("input",),
    thresholds=(
        Threshold("min_times", 10, "count", "measured starts: 81.8 ms against 1.7 ms, 4.3 ms against 0.08-1.4 ms"),
        Threshold("min_ratio", 0.05, "ratio", "as DL001: below, the loader is not what limits the step"),
    ),
    explains=("DL001",),
    references=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
    measured=True,
    outside=("persistent",),
)

_FEW_CALLS = 3
_SPREAD = "spread over the steps of an epoch"
_NOT_SPREAD = "as if every recording of this length had as many: how long an epoch is was not recorded"


class _Found(msgspec.Struct, frozen=True):
    """Restarts in the used steps, however they were seen.

    Args:
        time: Idle time in them beyond a usual call, and what the first step after them takes beyond a usual one.
        number: How many.
        longest_ns: The longest, on the host's clock.
        confidence: How sure it is that these are restarts.
        caveats: What else they could be.
    """

    time: IntervalSet
    number: int
    longest_ns: int
    confidence: Confidence
    caveats: tuple[str, ...] = ()


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where starting workers again takes at least `min_ratio` of the used steps."""
    if not facts.input.wait.multi_process:
        yield not_applicable("no batches from worker processes in the used steps")
        return
    found = _marked(facts) or _unmarked(facts, limits["min_times"])
    if isinstance(found, Outcome):
        yield found
        return
    ratio = facts.steps.ratio(found.time.total_ns)
    if ratio < limits["min_ratio"]:
        many = count(found.number, "start")
        yield clear(f"{many} of workers in the used steps: {share(ratio)} of them, below {share(limits['min_ratio'])}")
        return
    epoch = epoch_steps(facts.recording, facts.host.restarts)
    usual = duration(facts.input.pattern.median_ns)
    yield Finding(
        why=f"Workers are started {'once' if found.number == 1 else f'{found.number} times'} in the recorded steps: training waits "
        f"{duration(found.longest_ns)} until the first batch is made, and {usual} for the others. It costs once an epoch"
        + (f" of {count(epoch, 'step')}." if epoch else "; how long an epoch is was not recorded."),
        saving=Saving(
            found.time.scaled(_part(facts, found.number, epoch)),
            basis="time in the start and, beyond usual steps, until the queue is full and memory is written to, "
            + (_SPREAD if epoch else _NOT_SPREAD),
        ),
        fix=_fix(facts),
        verify="Record across the end of an epoch again: no call should stand out.",
        steps_seen=facts.steps.count_with(found.time),
        confidence=found.confidence,
        evidence=(Series("each call of the loader", "ns", facts.input.wait.durations_ns),),
        severity_cap=Severity.HIGH if epoch else Severity.LOW,
        capped_because="how often an epoch begins is not known",
        caveats=found.caveats,
    )


def _marked(facts: Facts) -> _Found | None:
    """The restarts whose draw of the seed is in the trace; None where there is none."""
    restarts = facts.host.restarts.within(facts.steps.host_window)
    if not len(restarts):
        return None
    longest = int((restarts.first[:, 1] - restarts.ended[:, 0]).max())
    # The whole first call: workers that stay are asked for the next epoch's batches as it begins, and may be as quick as wished.
    time = (facts.input.wait.owned & facts.input.starting) | first_writes(
        facts.device, facts.steps, facts.time, restarts
    )
    return _Found(time, len(restarts), longest, Confidence.HIGH)


def _unmarked(facts: Facts, min_times: float) -> _Found | Outcome:
    """One call far longer than all others, where no start of workers can be seen."""
    pattern = facts.input.pattern
    if len(pattern.dur_ns) < _FEW_CALLS:
        return cannot_tell(f"needs at least {_FEW_CALLS} batches in the used steps: schedule(..., active=6)")
    late = pattern.longer_than(min_times)
    longest = int(pattern.dur_ns.max())
    if len(late) != 1:
        return clear(f"the longest call takes {duration(longest)}, the median {duration(pattern.median_ns)}")
    seen, first = facts.host.restart_seen, late[0] == 0
    if not seen and not first and not facts.host.seed_drawn_between and len(facts.host.ops.ops):
        return clear(f"one call takes {duration(longest)}, but no iterator is made before it: a slow sample (DL004)")
    # At the recording's start it is likely; elsewhere a slow sample is as likely.
    confidence = Confidence.HIGH if seen else Confidence.MEDIUM if first else Confidence.LOW
    doubt = () if seen else ("A single slow sample looks the same; with stacks the restart itself would be seen.",)
    time = facts.input.wait.owned & pattern.beyond(late, pattern.median_ns)
    return _Found(time, 1, longest, confidence, doubt)


def _part(facts: Facts, number: int, epoch: int | None) -> float:
    """The part of what was recorded that a recording of this length holds on average; all of it where an epoch is unknown."""
    if epoch is None:
        return 1.0
    batches = len(facts.input.pattern.dur_ns) + len(facts.host.restarts.within(facts.steps.host_window))
    # Starts beyond one an epoch are another loader's: they belong to the same epochs.
    return min(1.0, batches / epoch / min(number, -(-batches // epoch)))


_KEPT = (
    "Keeps the worker processes, their imports and their copy of the dataset from epoch to epoch. What the program changes of the "
    "dataset between epochs does not reach that copy."
)


def _fix(facts: Facts) -> tuple[Advice, ...]:
    if words.framework_of(facts) is not None:
        return (words.loader(facts, {"persistent_workers": True}, _KEPT),)
    return (
        Advice(
            "diff",
            " loader = DataLoader(\n     dataset, ...,\n+    persistent_workers=True,\n )\n"
            " for epoch in range(epochs):   # behind it: a loader made for each epoch starts its workers again\n"
            "     for batch in loader:\n         train_step(batch)",
            f"{_KEPT} Where a batch takes less to make than to be sent, `num_workers=0` is faster still.",
        ),
    )


RULE = Rule(META, check, __doc__)
