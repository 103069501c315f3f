"""DL001 input-bound: the device waits while the training thread is inside the data loader.

## What it finds
Steps in which the device (on a CPU-only trace, the model) does nothing because the next batch is not there yet.

## Why it costs time
The training thread asks the loader for a batch and gets it only when it is ready. Until then nothing can be launched, so the device
runs dry. Loading and training take turns instead of overlapping.

## How it is measured
`|idle and inside __next__| / |used steps|`: device-idle nanoseconds during which the thread that issues the next device work is
inside the loader's `__next__` (the cause `input` of the waterfall). A `__next__` beside a busy device costs nothing and is not
counted. On a CPU-only trace: time inside `__next__` as a share of the step.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=64, shuffle=True)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4, persistent_workers=True, pin_memory=True)
```

## Fix
1. Data that fit in memory: load them once into a tensor and index whole batches; no worker is as fast as not loading.
2. Otherwise load in worker processes: `num_workers`, `persistent_workers=True`, `prefetch_factor=4`.
3. Data on the GPU already (kernels put the batch together inside `__next__`): index whole batches there; no worker can.
4. Make a sample cheaper: decode and resize once, offline; augment on the device.

## Expected gain
At most the idle time inside the loader, and behind it as much as loading took beside a busy device. On four pairs of recordings
with 0 and 4 workers the bound was 20-34 % of the step and 7-20 % came true: it was never exceeded.

## When it is wrong
A loader that is not `torch.utils.data` (DALI, webdataset, a hand-written generator) leaves no event: its wait shows up as Python
time (PY001), but for what Lightning draws from under `advisor collect`. The first `__next__` of an iterator includes starting the
workers (DL005). Warm-up inside the window dilutes the share (PG002). A call that stands alone, five times as long as any other, may
be long for another reason: where it holds a quarter of all waiting the finding says what is left without it. A single call may be
that for the first batch; the finding says so.

## Thresholds
- `min_ratio`: share of the used steps from which the rule fires.

## References
- TensorBoard profiler plugin, `data.py`: 5 %; XProf: 5 and 20 %; TraceML: 10 and 20 %
- https://docs.pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Finding,
    Outcome,
    Saving,
    Series,
    Severity,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.data_loading import no_loader, one_long_call, place
from rules.data_loading.advice import feed_workers, ordered
from rules.data_loading.handing_over import handed_over_as_slowly
from rules.data_loading.own_workers import feed_own_workers, own_workers

META = RuleMeta(
    code="DL001",
    name="input-bound",
    family="data_loading",
    title="Data loader keeps training waiting",
    binds=("input",),
    measures=("input",),
    thresholds=(
        Threshold(
            "min_ratio",
            0.05,
            "ratio",
            "TensorBoard plugin warns from 5 %; below, the loader is not what limits the step",
        ),
    ),
    explains=("PY005",),
    references=("https://docs.pytorch.org/docs/stable/data.html",),
    measured=True,
    outside=("workers", "in-memory"),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when input owns at least `min_ratio` of the used steps."""
    wait = facts.input.wait
    if not len(wait):
        yield not_applicable(
            "no DataLoader call in the used steps; a loader of another kind shows up as Python time (PY001)"
        )
        return
    ratio = facts.steps.ratio(wait.owned.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"waiting for data owns {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    slow = handed_over_as_slowly(facts)
    waits = duration(facts.steps.per_step(wait.owned.total_ns))
    who = "The GPU" if facts.device.main else "Training"
    yield Finding(
        why=f"{who} waits {waits} of {facts.steps.each} ({share(ratio)}) for {_whom(facts)}: `{wait.name}`{_filled(facts)}."
        + place.sentence(facts),
        saving=Saving(
            claims=wait.owned,
            behind=facts.sync.behind(wait.inside),
            basis="idle time inside the loader's `__next__`, if a batch cost nothing: to get one from a worker takes as long here"
            if slow
            else "idle time inside the loader's `__next__`; reached only if loading hides fully behind the rest of the step",
        ),
        fix=_fix(facts),
        verify="Record again and run `advisor compare before.json after.json`: the share of DL001 should fall below 5 %.",
        steps_seen=wait.steps_seen,
        confidence=one_long_call.confidence(facts, Confidence.MEDIUM if slow else Confidence.HIGH),
        evidence=(*_evidence(facts), *place.evidence(facts)),
        location=place.place(facts),
        caveats=one_long_call.caveats(facts),
        severity_cap=Severity.MEDIUM if slow else Severity.HIGH,
        capped_because="workers would bring batches no sooner" if slow else "",
    )


def _whom(facts: Facts) -> str:
    return "its batches, which no DataLoader makes" if facts.input.by_no_loader else "the DataLoader"


def _filled(facts: Facts) -> str:
    """Who makes the batches, where the loader only takes what others have made."""
    return f", which takes what {own_workers(facts)} make" if facts.input.wait.own_workers else ""


def _fix(facts: Facts) -> tuple[Advice, ...]:
    if facts.input.wait.own_workers:
        return feed_own_workers(facts)
    if facts.input.by_no_loader:
        return no_loader.FIXES
    return feed_workers(facts) if facts.input.wait.multi_process else ordered(facts)


def _evidence(facts: Facts) -> tuple[Bars, Series]:
    wait = facts.input.wait
    step = facts.steps.per_step(facts.steps.total_ns)
    idle_in_loader = facts.steps.per_step(wait.owned.total_ns)
    return (
        Bars(
            "mean step",
            "ns",
            (
                Bar("waiting in the loader", idle_in_loader),
                Bar("loader beside a busy device", facts.steps.per_step(wait.host.total_ns) - idle_in_loader),
                Bar("rest of the step", step - facts.steps.per_step(wait.host.total_ns)),
            ),
        ),
        Series("each call of the loader", "ns", wait.durations_ns),
    )


RULE = Rule(META, check, __doc__)
