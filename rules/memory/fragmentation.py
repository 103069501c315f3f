"""ME003 fragmentation: the allocator holds far more memory than tensors use.

## What it finds
A caching allocator whose reserved memory is a multiple of what was ever allocated, and a good part of the card.

## Why it costs time
Freed blocks of the wrong size cannot be handed out again. The allocator then asks the driver for more, until the card is full;
it gives everything back and starts over, which stops the device (ME001), or the run ends out of memory although half of it is
free.

## How it is measured
From `profile_memory=True`: largest `Total Reserved` over largest `Total Allocated`, and over the card's memory.

## Example
Slow:

```python
for batch in loader:  # every batch has another length
    train(batch)
```

Faster:

```python
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"  # before the first tensor on the device
for batch in loader:
    train(batch)
```

## Fix
1. `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` (on AMD's cards without effect before torch 2.12; torch 2.9 and
   newer also know it as `PYTORCH_ALLOC_CONF`).
2. Fixed sizes: pad to a few lengths, `drop_last=True`.
3. One step with the largest batch first, so that large blocks exist.

## Expected gain
None in time by itself; room for a larger batch.

## When it is wrong
A peak before the recording (initialisation, an evaluation) leaves a large cache behind that is not fragmented.

## Thresholds
- `min_reserved_times`: reserved over allocated, at their peaks.
- `min_capacity_ratio`: share of the card's memory that must be reserved.

## References
- TraceML: reserved over 2.0 times allocated, and 30 % of the card
- https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share, size
from traces.trace import Capability

META = RuleMeta(
    code="ME003",
    name="fragmentation",
    family="memory",
    title="Reserved memory mostly unused",
    binds=("allocator",),
    needs=frozenset({Capability.DEVICE, Capability.MEMORY}),
    thresholds=(
        Threshold("min_reserved_times", 2.0, "count", "TraceML: twice what was allocated"),
        Threshold("min_capacity_ratio", 0.30, "ratio", "TraceML: below, there is memory to spare"),
    ),
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html",),
    outside=("allocator",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the allocator holds a multiple of what tensors used, and much of the card."""
    found = facts.memory.device
    allocated, reserved, capacity = found.peak_allocated_bytes, found.peak_reserved_bytes, found.capacity_bytes
    if allocated is None or reserved is None:
        yield cannot_tell("memory events state no totals: needs torch 1.10 or newer with profile_memory=True")
        return
    if capacity is None:
        yield cannot_tell("how much memory the card has: the trace has no deviceProperties")
        return
    times = reserved / allocated
    if times < limits["min_reserved_times"] or reserved < limits["min_capacity_ratio"] * capacity:
        yield clear(
            f"the allocator holds {times:.1f} times what tensors take at the peak, {share(reserved / capacity)} of the card"
        )
        return
    yield Finding(
        why=f"The allocator holds {size(reserved)} ({share(reserved / capacity)} of the card), {times:.1f} times the "
        f"{size(allocated)} that tensors take at the peak.",
        saving=Saving(basis="memory, not time"),
        fix=(
            Advice(
                "shell",
                "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
                "Blocks can then grow; needs no change to the program. Sizes that repeat help as well: pad, drop_last=True.",
            ),
        ),
        verify="Record again with profile_memory=True: reserved memory should come close to allocated memory.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "device memory",
                "bytes",
                (
                    Bar("allocated at the peak", float(allocated)),
                    Bar("reserved at the peak", float(reserved)),
                    Bar("card", float(capacity)),
                ),
            ),
        ),
        caveats=("A larger peak before the recording would leave the same picture.",),
    )


RULE = Rule(META, check, __doc__)
