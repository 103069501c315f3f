"""ME002 near-capacity: the device's memory is nearly full.

## What it finds
A peak of allocated memory close to what the card has, or a caching allocator that has taken all of it.

## Why it costs time
It is a risk more than a loss: one longer batch ends the run. Shortly before that, the allocator gives all cached memory back to
the driver and asks again, which stops the device each time (ME001).

## How it is measured
From `profile_memory=True`: the largest `Total Allocated` (and `Total Reserved`) of the device that does most of the work, over
`totalGlobalMem` of its properties. Memory is taken over the whole trace, not only the used steps.

## Example
Slow:

```python
output = model(batch)
output.loss.backward()
```

Faster:

```python
model.gradient_checkpointing_enable()
with torch.autocast("cuda", dtype=torch.bfloat16):
    output = model(batch)
output.loss.backward()
```

## Fix
1. 16-bit autocast halves activations.
2. Checkpoint the largest blocks: `torch.utils.checkpoint`.
3. A program that only runs its model: weights of 16 or fewer bits, `torch.inference_mode()`, fewer requests at once.
4. A smaller batch with gradient accumulation; sharded parameters and optimizer states (FSDP) on several devices.

## Expected gain
None in time: it removes a risk.

## When it is wrong
Reserved memory is not used memory: a high value with little allocated is a cache that may be given back. Other processes on the
card are not seen, nor is a partition (MIG) smaller than the card.

## Thresholds
- `allocated_ratio`: share of the card's memory that tensors held at the peak.
- `reserved_ratio`: share that the caching allocator held at the peak.

## References
- TensorBoard plugin: 90 %; TraceML: 92 and 97 %; gpuprof: 90 and 97 %
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.memory.allocator import DeviceMemory
from analyzer.finding import Advice, Bar, Bars, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share, size
from rules.changes import accumulate_gradients
from rules.purpose import by_purpose
from traces.trace import Capability

META = RuleMeta(
    code="ME002",
    name="near-capacity",
    family="memory",
    title="Device memory nearly full",
    needs=frozenset({Capability.DEVICE, Capability.MEMORY}),
    thresholds=(
        Threshold("allocated_ratio", 0.90, "ratio", "TensorBoard and gpuprof warn from 90 %"),
        Threshold("reserved_ratio", 0.98, "ratio", "from here the next request that does not fit flushes the cache"),
    ),
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the peak is within a tenth of the card's memory."""
    found = facts.memory.device
    if found.peak_allocated_bytes is None:
        yield cannot_tell("memory events state no totals: needs torch 1.10 or newer with profile_memory=True")
        return
    if found.capacity_bytes is None:
        yield cannot_tell("how much memory the card has: the trace has no deviceProperties")
        return
    allocated = found.peak_allocated_bytes / found.capacity_bytes
    reserved = (found.peak_reserved_bytes or 0) / found.capacity_bytes
    if allocated < limits["allocated_ratio"] and reserved < limits["reserved_ratio"]:
        yield clear(
            f"tensors take {share(allocated)} of {size(found.capacity_bytes)} at the peak, below {share(limits['allocated_ratio'])}"
        )
        return
    held = f"tensors take {size(found.peak_allocated_bytes)} ({share(allocated)})"
    if found.peak_reserved_bytes is not None:
        held += f", the allocator holds {size(found.peak_reserved_bytes)} ({share(reserved)})"
    yield Finding(
        why=f"At the peak {held} of the card's {size(found.capacity_bytes)}: one larger batch may end the run.",
        saving=Saving(basis="a risk, not a loss of time"),
        fix=_fix(facts),
        verify="Record again with profile_memory=True: the peak should leave a tenth of the memory free.",
        steps_seen=facts.steps.count,
        evidence=(_bars(found),),
        caveats=()
        if allocated >= limits["allocated_ratio"]
        else ("Most of it is a cache that can be given back; what tensors need would fit.",),
    )


# Without a backward pass nothing is kept for one: what fills the card are weights, caches and the batch.
_RUNNING = (
    Advice(
        "python",
        "model = model.to(torch.bfloat16)\nwith torch.inference_mode():\n    output = model(x)",
        "Weights and activations in half the memory, and nothing kept for a backward pass. Weights of 8 or 4 bits take less still.",
    ),
    Advice(
        "text",
        "Fewer or shorter requests in one pass, or a smaller cache of keys and values.",
        "Both grow with the batch.",
    ),
)


def _fix(facts: Facts) -> tuple[Advice, ...]:
    return by_purpose(facts, _RUNNING, _training(facts))


def _training(facts: Facts) -> tuple[Advice, ...]:
    return (
        Advice(
            "python",
            'with torch.autocast("cuda", dtype=torch.bfloat16):\n    loss = criterion(model(x), target)',
            "Halves activations.",
        ),
        Advice(
            "python",
            "from torch.utils.checkpoint import checkpoint\nx = checkpoint(self.block, x, use_reentrant=False)",
            "Computes a block's activations again in the backward pass instead of keeping them; costs about a third more compute.",
        ),
        accumulate_gradients(facts, data_parallel=facts.communication.collectives.data_parallel),
    )


def _bars(found: DeviceMemory) -> Bars:
    bars = [
        ("allocated at the peak", found.peak_allocated_bytes),
        ("reserved at the peak", found.peak_reserved_bytes),
        ("card", found.capacity_bytes),
    ]
    return Bars("device memory", "bytes", tuple(Bar(label, float(value)) for label, value in bars if value is not None))


RULE = Rule(META, check, __doc__)
