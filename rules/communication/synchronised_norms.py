"""CO011 synchronised-norms: batch normalisation waits for all ranks, layer by layer.

## What it finds
`SyncBatchNorm` whose collectives hold the step up.

## Why it costs time
Each such layer gathers its statistics from all ranks before it can go on, and again in its backward pass: two small collectives a
layer, none of which can overlap anything, as the next layer needs the result. A late rank stops all others at every one of them.

## How it is measured
Collectives inside the ranges of `SyncBatchNorm` and its backward pass, and the part of the exposed communication that is theirs.

## Example
Slow:

```python
model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
```

Faster:

```python
model = model.to(device)  # each rank's own statistics: right from some 16 samples a rank on
```

## Fix
1. From some 16 samples a rank on: plain `BatchNorm`; check the accuracy once.
2. Fewer: `GroupNorm`, which needs no other rank; or synchronise within a machine only (`process_group=`).

## Expected gain
At most the exposed time of these collectives.

## When it is wrong
With a few samples a rank the statistics of one rank alone change what is learned: then synchronising is right, and this is its
price. The thresholds are reasoned, not calibrated: no recording on a GPU has judged them.

## Thresholds
- `min_ratio`: share of the step from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html
- Wu, He: Group Normalization, 2018
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from traces.trace import Capability

META = RuleMeta(
    code="CO011",
    name="synchronised-norms",
    family="communication",
    title="SyncBatchNorm waits for all ranks",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(Threshold("min_ratio", 0.05, "ratio", "below, any rule would call it low"),),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the exposed collectives of SyncBatchNorm take `min_ratio` of the step."""
    found = facts.communication.synchronised_norms
    if not found.calls and not found.collectives:
        yield not_applicable("no SyncBatchNorm in the used steps")
        return
    ratio = facts.steps.ratio(found.exposed.total_ns)
    layers, collectives = (number / max(facts.steps.count, 1) for number in (found.calls, found.collectives))
    if ratio < limits["min_ratio"]:
        yield clear(f"{layers:.0f} SyncBatchNorm layers a step; their collectives hold up {share(ratio)} of it")
        return
    yield Finding(
        why=f"{layers:.0f} SyncBatchNorm layers a step wait for {collectives:.0f} collectives, "
        f"{duration(facts.steps.per_step(found.exposed.total_ns))} a step ({share(ratio)}) with nothing beside them.",
        saving=Saving(claims=found.exposed, basis="exposed time of the collectives inside SyncBatchNorm"),
        fix=(
            Advice(
                "diff",
                "-model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)",
                "From some 16 samples a rank on each rank's own statistics do; check the accuracy once.",
            ),
            Advice(
                "text",
                "With fewer: GroupNorm needs no other rank; or synchronise within one machine (`process_group=`).",
            ),
        ),
        verify="Record again: fewer collectives a step, and the accuracy as before.",
        steps_seen=facts.steps.count_with(found.exposed),
        confidence=Confidence.MEDIUM,
        evidence=(Bars("a step", "count", (Bar("layers", layers), Bar("collectives", collectives))),),
        caveats=("With a few samples a rank synchronising is right, and this is its price.",),
    )


RULE = Rule(META, check, __doc__)
