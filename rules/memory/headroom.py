"""ME005 headroom: half of the card's memory is free while the device is not filled.

## What it finds
A run that leaves device memory unused although its kernels are too small or the device waits for launches.

## Why it costs time
Launching costs the same for a large batch as for a small one, and small kernels leave multiprocessors empty. A larger batch
does more work per launch, and there is room for it.

## How it is measured
From `profile_memory=True`: largest `Total Allocated` below `max_allocated_ratio` of the card, while the run is launch-bound or
all kernels together have blocks for less than `max_filled_ratio` of the multiprocessors for `min_small_ratio` of the busy time
(KE001).

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=32)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=128)
```

## Fix
1. Double the batch while memory allows, scale the learning rate along, watch the validation score.

## Expected gain
More samples per second, not a shorter step; not measured here.

## When it is wrong
Batch size is also a question of convergence. Other processes on the card are not seen.

## Thresholds
- `max_allocated_ratio`: share of the card's memory up to which there is room for twice the batch.
- `min_small_ratio`: share of the busy time in which multiprocessors stand empty.
- `max_filled_ratio`: blocks per multiprocessor below which they count as such.

## References
- DLProf: advises a larger batch at low memory use; SageMaker Debugger: BatchSize
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share, size
from rules.changes import larger_batch
from traces.trace import Capability

META = RuleMeta(
    code="ME005",
    name="headroom",
    family="memory",
    title="Room for a larger batch",
    needs=frozenset({Capability.DEVICE, Capability.MEMORY}),
    thresholds=(
        Threshold(
            "max_allocated_ratio", 0.50, "ratio", "twice the batch fits: activations are at most what is allocated"
        ),
        Threshold("min_small_ratio", 0.40, "ratio", "as KE001"),
        Threshold("max_filled_ratio", 0.75, "ratio", "as KE001"),
    ),
    references=("https://docs.nvidia.com/deeplearning/frameworks/dlprof-user-guide/",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when memory is half empty and the device is not filled."""
    found, kernels = facts.memory.device, facts.kernels.named
    if found.peak_allocated_bytes is None or found.capacity_bytes is None:
        yield cannot_tell("needs memory events with totals (torch 1.10 or newer) and the card's properties")
        return
    ratio = found.peak_allocated_bytes / found.capacity_bytes
    underused, unknown = (
        of(limits["max_filled_ratio"]) & kernels.window
        for of in (facts.kernels.filling.underused, facts.kernels.filling.unknown)
    )
    small, most = (time.total_ns / max(kernels.busy.total_ns, 1) for time in (underused, underused | unknown))
    if small < limits["min_small_ratio"] <= most and not facts.time.launch_bound:
        yield cannot_tell("whether the device is filled: most kernels state no grid")
        return
    filled = not facts.time.launch_bound and small < limits["min_small_ratio"]
    if ratio > limits["max_allocated_ratio"] or filled:
        yield clear(
            f"tensors take {share(ratio)} of the card; "
            + ("the device is filled" if filled else "no room for twice the batch")
        )
        return
    reason = (
        "waits for launches" if facts.time.launch_bound else f"runs small kernels for {share(small)} of its busy time"
    )
    yield Finding(
        why=f"Tensors take {size(found.peak_allocated_bytes)} of the card's {size(found.capacity_bytes)} ({share(ratio)}) "
        f"while the GPU {reason}.",
        saving=Saving(basis="samples per second, not a shorter step: compare both"),
        fix=(larger_batch(facts),),
        verify="Record again and compare samples per second.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "device memory",
                "bytes",
                (
                    Bar("allocated at the peak", float(found.peak_allocated_bytes)),
                    Bar("card", float(found.capacity_bytes)),
                ),
            ),
        ),
        caveats=("Batch size is also a question of convergence.",),
    )


RULE = Rule(META, check, __doc__)
