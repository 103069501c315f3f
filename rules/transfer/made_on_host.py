"""XF004 made-on-host: tensors are made on the host and moved to the device, step after step.

## What it finds
`torch.zeros(n).to(device)` and its kin: a tensor filled on the host and copied to the device in the next operation, at least
once a step.

## Why it costs time
The host allocates, fills and copies what the device could make itself with one launch; from pageable memory the copy also
blocks the host.

## How it is measured
Copies to the device below `aten::to`, directly preceded on the same thread by an op that fills a tensor (`aten::fill_`,
`zero_`, `normal_`, `uniform_`, `random_`, `arange`, ...) of the same shape and type. Needs `record_shapes=True`. The bound is
the device-idle time between the start of the fill and the end of the move, and copies beside no kernel.

## Example
Slow:

```python
mask = torch.zeros(batch, length).to(device)
```

Faster:

```python
mask = torch.zeros(batch, length, device=device)
```

## Fix
1. Pass `device=` to the function that makes the tensor.
2. Constants: `register_buffer`, once, before training.

## Expected gain
At most the bound; mostly well below 1 % of a step each, more where many are made.

## When it is wrong
Random numbers drawn on the device differ from those drawn on the host with the same seed. Constants of the first step only
are not counted: one a step is asked for.

## Thresholds
- `min_per_step`: tensors a step from which the rule fires.

## References
- torch.profiler `_pattern_matcher.py`, ExtraCUDACopyPattern
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Column, Finding, Outcome, Saving, Table, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.transfer.late import issued_late
from rules.transfer.place import location
from traces.trace import Capability

META = RuleMeta(
    code="XF004",
    name="made-on-host",
    family="transfer",
    title="Tensors are made on host, then moved",
    binds=("copy",),
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES, Capability.SHAPES}),
    thresholds=(Threshold("min_per_step", 1, "count", "once a step is a habit; once a recording is set-up"),),
    suppressed_by=("PG002",),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when at least one tensor a step is filled on the host and then moved."""
    made = facts.transfer.made_on_host
    number = facts.steps.per_step(len(made.copies))
    if number < limits["min_per_step"]:
        yield clear(f"{len(made.copies)} tensors in {facts.steps.count} steps are filled on the host and moved at once")
        return
    claims = _claims(facts, made.host) | (facts.time.waterfall.owned("copy") & made.copies.time)
    blocked = facts.transfer.blocked_after(made.copies)
    claims |= blocked.owned
    yield Finding(
        why=f"{count(round(number), 'tensor')} {facts.steps.a_unit} filled on the host and then copied to the device: "
        f"{duration(facts.steps.per_step((made.host & facts.steps.window).total_ns))} of host time {facts.steps.a_unit}, "
        f"{share(facts.steps.ratio(claims.total_ns))} of the step idle because of it.",
        saving=Saving(
            claims | blocked.removable,
            usual_claims=claims | issued_late(facts, blocked),
            behind=facts.sync.behind(made.host),
            basis="device-idle time from the start of the fill to the end of the move, exposed copies, and behind waits for a copy "
            "as long as the host waited beside a busy device",
        ),
        fix=(
            Advice(
                "diff",
                "-mask = torch.zeros(batch, length).to(device)\n+mask = torch.zeros(batch, length, device=device)",
                "Every factory function takes `device=`; a constant belongs into a buffer, made once.",
            ),
        ),
        verify="Record again with shapes: XF004 should be clear.",
        steps_seen=facts.steps.count_with(made.copies.time),
        evidence=(
            Table(
                "filled by",
                (Column("op", "text"), Column("tensors", "count")),
                tuple(Counter(made.filling).most_common(5)),
            ),
        ),
        location=location(facts, made.copies),
    )


def _claims(facts: Facts, host: IntervalSet) -> IntervalSet:
    """Idle time of these spans that belongs to dispatching them, not to a wait another rule claims."""
    owned = facts.time.waterfall.owned
    return (owned("transfer_call") | owned("framework") | owned("launch")) & host


RULE = Rule(META, check, __doc__)
