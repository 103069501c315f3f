"""ME004 growth: allocated memory rises from step to step.

## What it finds
Device memory that is higher at the end of every step than at the end of the one before.

## Why it costs time
Something keeps tensors alive: a list of losses with their graphs, outputs collected for a metric, a cache. In the end the run
stops, out of memory; on the way the allocator works ever harder.

## How it is measured
From `profile_memory=True`: `Total Allocated` at the end of each used step, strictly increasing over at least `min_steps` steps
and by at least `min_bytes` or `min_capacity_ratio` of the card in total.

## Example
Slow:

```python
losses.append(loss)
```

Faster:

```python
losses.append(loss.detach())
```

## Fix
1. `detach()` (or `item()` outside the hot loop) what is kept: a loss holds on to its whole graph.
2. Clear lists and caches; take metrics with running sums.
3. Look for `retain_graph=True`.

## Expected gain
None in time: it removes a risk.

## When it is wrong
A profile is short: batches that happen to grow, or the optimizer's states being created, look the same.

## Thresholds
- `min_steps`: used steps needed.
- `min_bytes`: growth in total from which the rule fires.
- `min_capacity_ratio`: growth as a share of the card's memory from which it fires as well.

## References
- TraceML: memory creep (800 steps, 6 %, 512 MiB); SageMaker Debugger: GPUMemoryIncrease
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, Series, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share, size
from rules.purpose import by_purpose
from traces.trace import Capability

META = RuleMeta(
    code="ME004",
    name="growth",
    family="memory",
    title="Memory grows from step to step",
    needs=frozenset({Capability.DEVICE, Capability.MEMORY, Capability.STEPS}),
    thresholds=(
        Threshold("min_steps", 4, "count", "rules.md ME004: fewer rise by chance"),
        Threshold("min_bytes", 64 << 20, "bytes", "rules.md ME004: less is noise of the allocator's block sizes"),
        Threshold("min_capacity_ratio", 0.01, "ratio", "rules.md ME004: a hundredth of the card in one short profile"),
    ),
    references=("https://docs.pytorch.org/docs/stable/notes/faq.html",),
)


_KEPT_LOSS = Advice("diff", "-losses.append(loss)\n+losses.append(loss.detach())", "A kept loss keeps its whole graph.")
_KEPT_OUTPUT = Advice(
    "diff",
    "-output = model(x)\n-outputs.append(output)\n+with torch.inference_mode():\n+    output = model(x)\n"
    "+outputs.append(output.cpu())",
    "Outside `inference_mode` a kept output keeps the graph of its pass.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when allocated memory rises with every used step, by a noticeable amount."""
    found = facts.memory.device
    if found.peak_allocated_bytes is None:
        yield cannot_tell("memory events state no totals: needs torch 1.10 or newer with profile_memory=True")
        return
    ends = found.at_step_end
    if len(ends) < limits["min_steps"]:
        yield cannot_tell(
            f"whether memory grows: {len(ends)} steps with memory events, {limits['min_steps']:.0f} are needed"
        )
        return
    growth = int(ends[-1] - ends[0])
    floor = limits["min_bytes"]
    if found.capacity_bytes is not None:
        floor = min(floor, limits["min_capacity_ratio"] * found.capacity_bytes)
    if not found.grows or growth < floor:
        yield clear(
            f"allocated memory changes by {size(abs(growth))} over {len(ends)} steps, not with every step or by little"
        )
        return
    part = f" ({share(growth / found.capacity_bytes)} of the card)" if found.capacity_bytes else ""
    yield Finding(
        why=f"Allocated memory is higher after each of {len(ends)} steps, by {size(growth)}{part} in total: possibly a leak.",
        saving=Saving(basis="a risk, not a loss of time"),
        fix=(
            *by_purpose(facts, (_KEPT_OUTPUT,), (_KEPT_LOSS,)),
            Advice(
                "text", "Look for lists, caches and retain_graph=True in the loop.", "Whatever is kept from each step."
            ),
        ),
        verify="Record 20 steps with profile_memory=True: the value at the end of a step should stay the same.",
        steps_seen=len(ends),
        confidence=Confidence.LOW,
        evidence=(Series("allocated at the end of each step", "bytes", tuple(float(value) for value in ends)),),
        caveats=(
            "A profile is short: a cache of keys and values that fills up looks the same."
            if facts.model.infers
            else "A profile is short: growing batches or the optimizer's first states look the same.",
        ),
    )


RULE = Rule(META, check, __doc__)
