"""DL002 single-process-loader: batches are made in the training process while the device waits.

## What it finds
A loader with `num_workers=0` that takes at least 5 % of the step on the training thread.

## Why it costs time
With no worker processes the training thread itself reads, decodes and collates each batch. While it does, it launches
nothing; while it trains, nothing is loaded.

## How it is measured
The class in the event's name, `_SingleProcessDataLoaderIter`, tells that the training process loads. The metric is host time
inside `__next__` as a share of the used steps. The bound is the part of it in which the device idles, less what the cores cannot
do. The step cannot become shorter than its rest without loading, nor shorter than `computing / cores`: training leaves its core
to the workers while it waits for them. Where a sample takes less than 0.2 ms of work, or that is not known, the limit is
`computing / (cores - 1)`. On a CPU-only run loading and training share the cores: there the step also cannot become shorter than
the core time of both spread over all cores, which is at least `(rest + computing) / cores`, and more where several threads
compute. `computing` is loading without what the process was seen to sleep in it: waiting for storage needs no core. The number of
cores, and how much of them the run uses, are what `advisor collect` recorded. If the use is not known, all of loading counts as
computing; if the number of cores is not known, only the rest of the step limits the bound.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=64, shuffle=True)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4, persistent_workers=True)
```

## Fix
1. With two cores or fewer, or less than 0.2 ms of work a sample: keep the data in memory and index whole batches (DL006).
2. Otherwise worker processes: cores - 1, or as many as cores where loading takes longer than the rest of the step; more where
   samples are mostly waited for; start at 2-4 per GPU and tune; `persistent_workers=True`.
3. Make samples cheaper: decode and resize once, offline. First of all where workers on these cores would hide less than half of
   the wait, and where most of making a sample is a Python loop through a tensor: the same op on the whole tensor.

## Expected gain
At most the bound above. Four pairs of recordings with 0 and 4 workers: bounds of 20-34 % of the step, 7-20 % came true.
On 2 cores a 784-128-64-10 network on MNIST became slower with workers (7.4 to 10 ms a step) and eight times faster with
the data in memory.

## When it is wrong
Small data sets in memory load faster without workers. Starting workers is slow where processes are spawned (Windows, macOS). A
dataset that holds CUDA tensors cannot be loaded by workers: where kernels make batches inside `__next__`, and nothing is sent,
the rule does not apply (DL006, DL001 say what helps). An IterableDataset without sharding yields every sample once a worker;
containers may limit /dev/shm. Worker processes copy every batch, which the bound does not count. Each tensor of a batch comes from
a worker through a socket, which takes up to 0.5 ms by machine: where `advisor collect` measured that it takes as long as making
the batch, the rule is clear; in other recordings of batches made within a millisecond nobody knows, and the fix says so.

## Thresholds
- `min_ratio`: share of the used steps inside `__next__` from which the rule fires.

## References
- torch.profiler `_pattern_matcher.py`, SynchronizedDataLoaderPattern
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.input.worker_bound import WorkerBound
from analyzer.finding import Bar, Bars, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, listed, share
from rules.data_loading import one_long_call, place
from rules.data_loading.advice import ordered
from rules.data_loading.handing_over import handed_over_as_slowly
from rules.data_loading.on_device import WHY_NO_WORKERS
from rules.data_loading.own_workers import own_workers
from rules.data_loading.parts import sampler_leads, sampler_takes
from rules.data_loading.workers import FEW_CORES, floor_ns, samples_wait, worth_a_worker

META = RuleMeta(
    code="DL002",
    name="single-process-loader",
    family="data_loading",
    title="Training process loads the data",
    binds=("input",),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "TensorBoard plugin warns from 5 %; below, workers have nothing to hide"),
    ),
    explains=("DL001",),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    measured=True,
    outside=("workers",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when a loader without workers holds the training thread for at least `min_ratio` of the used steps."""
    wait = facts.input.wait
    if not len(wait):
        yield not_applicable("no DataLoader call in the used steps")
        return
    if not wait.single_process:
        yield clear(_who_else(facts))
        return
    ratio = facts.steps.ratio(wait.host.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"loading takes {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    if sampler_leads(facts):
        yield clear(sampler_takes(facts))
        return
    if facts.input.on_device.holds:
        yield not_applicable(WHY_NO_WORKERS)
        return
    bound = facts.input.with_workers
    if handed_over_as_slowly(facts):
        yield clear(
            f"a batch is made in {duration(bound.load_ns)}; to get one from a worker takes {duration(bound.hand_over_ns or 0)} here"
        )
        return
    owned = facts.steps.per_step(wait.owned.total_ns)
    part = (bound.step_ns - floor_ns(facts)) / owned if owned else 0.0
    yield Finding(
        why=f"The training thread spends {duration(bound.load_ns)} of {facts.steps.each} ({share(ratio)}) "
        f"making batches itself: `num_workers=0`. For {duration(owned)} of it "
        + ("the GPU idles." if facts.device.main else "nothing else is computed.")
        + place.sentence(facts),
        saving=Saving(
            claims=wait.owned.scaled(part),
            behind=facts.sync.behind(wait.inside).scaled(part),
            basis=_basis(facts, bound),
        ),
        fix=ordered(facts),
        verify="Record again: DL002 clears once batches come from workers or memory; `advisor compare` then shows DL001's change.",
        steps_seen=facts.steps.count_with(wait.host),
        confidence=one_long_call.confidence(facts, _confidence(facts, bound)),
        evidence=(_evidence(facts, bound), *place.evidence(facts)),
        location=place.place(facts),
        caveats=_caveats(facts, bound) + one_long_call.caveats(facts),
    )


def _who_else(facts: Facts) -> str:
    """Who makes the batches, where the training thread does not."""
    if facts.input.wait.own_workers:
        return f"batches come from {own_workers(facts)}"
    return (
        "batches come from worker processes"
        if facts.input.wait.multi_process
        else "no torch DataLoader without workers"
    )


def _basis(facts: Facts, bound: WorkerBound) -> str:
    if bound.cores is None or bound.workers is None:
        return "idle time inside `__next__`, if loading hides fully behind the rest; cores unknown, so they may not allow it"
    if not bound.workers and not samples_wait(facts):
        return "no core is left for a worker"
    yields = worth_a_worker(facts) and bound.workers
    workers = bound.cores if yields else max(bound.workers, 1)
    beside = "with the one that training leaves while it waits" if yields else "beside it"
    handed = f" and getting a batch from a worker {duration(bound.hand_over_ns)}" if bound.hand_over_ns else ""
    parts = [
        f"the rest of it takes {duration(bound.rest_ns)}{handed}",
        f"loading computes {duration(bound.computing_ns / workers)} a batch on {count(workers, 'core')} {beside}",
    ]
    if bound.shared_ns is not None:
        parts.append(f"all that has to be done {duration(bound.shared_ns)} on {count(bound.cores, 'core')}")
    return f"the step cannot fall below {duration(floor_ns(facts))}: {listed(parts)}"


def _confidence(facts: Facts, bound: WorkerBound) -> Confidence:
    """The class name is direct evidence; whether workers help is not, where cores are few or unknown."""
    if bound.cores is None:
        return Confidence.MEDIUM
    if bound.cores > FEW_CORES:
        return Confidence.HIGH
    return Confidence.MEDIUM if samples_wait(facts) else Confidence.LOW


def _evidence(facts: Facts, bound: WorkerBound) -> Bars:
    waits = bound.load_ns - bound.computing_ns
    return Bars(
        "mean step",
        "ns",
        (
            Bar("step now", bound.step_ns),
            Bar("loading in the training process", bound.load_ns),
            *((Bar("of it waiting, without a core", waits),) if samples_wait(facts) else ()),
            Bar("shortest possible with workers", floor_ns(facts)),
        ),
    )


def _caveats(facts: Facts, bound: WorkerBound) -> tuple[str, ...]:
    found = []
    if bound.cores is not None and bound.cores <= FEW_CORES and not samples_wait(facts):
        found.append(
            f"With {count(bound.cores, 'core')} workers compete with training: the step may even become longer."
        )
    if facts.device.main is not None and not facts.input.wait.owned:
        found.append(
            "The device is busy whenever the loader runs: workers would free the thread, not shorten the step."
        )
    return tuple(found)


RULE = Rule(META, check, __doc__)
