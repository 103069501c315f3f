"""CO005 small-collectives: many collectives a step, each too small to be worth its start.

## What it finds
Steps with dozens of collectives of a few hundred kilobytes, such as one all-reduce per parameter, or one all-gather per layer.

## Why it costs time
A collective costs some 20 microseconds before the first byte moves, on every rank. Large messages hide that; a hundred small
ones add it a hundred times and use a fraction of the link.

## How it is measured
Collectives a step, counted by their host ranges (`nccl:*`, else `record_param_comms`), and the median of their sizes from
recorded shapes. The bound is the exposed time of the small ones, less the share that as few collectives as 25 MiB buckets would
keep.

## Example
Slow:

```python
for parameter in model.parameters():
    torch.distributed.all_reduce(parameter.grad)
```

Faster:

```python
model = torch.nn.parallel.DistributedDataParallel(model)
```

## Fix
1. Let DistributedDataParallel put gradients into buckets: 25 MiB where no `bucket_cap_mb` is given.
2. Own collectives: flatten and send once, or `torch.distributed._coalescing_manager`.
3. SyncBatchNorm sends twice per layer: group normalisation needs no communication.
4. Sharded parameters (FSDP, ZeRO 3): wrap whole blocks instead of single layers: a block's parameters are then gathered at once.

## Expected gain
At most the exposed time of the small collectives that bucketing would do away with. Moving the bytes still takes what it takes.

## When it is wrong
Small collectives that overlap compute cost next to nothing: then the bound is near zero. Those that exchange activations (between
the layers of tensor parallelism, between stages of a pipeline) need the one before them and cannot be joined, nor can those of a
program that only runs its model: the rule is silent.

## Thresholds
- `min_calls`: collectives a step from which the rule fires.
- `max_median_bytes`: median size below which they count as small.

## References
- msprof-analyze advisor: messages below 1 MB between and 16 MB inside machines, from 20 % of them
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.communication.between_layers import FEW_BYTES
from analyzer.finding import (
    Advice,
    Column,
    Confidence,
    Finding,
    Outcome,
    Saving,
    Table,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import size
from rules.communication import sharded
from rules.communication.kinds import BUCKET_BYTES, MANY_CALLS, SMALL_BYTES, mostly_own_calls, of_own_calls
from rules.communication.ranks_read import movable

META = RuleMeta(
    code="CO005",
    name="small-collectives",
    family="communication",
    title="Many small collectives",
    binds=("communication",),
    thresholds=(
        Threshold(
            "min_calls",
            MANY_CALLS,
            "count",
            "rules.md CO005: DDP sends a handful of buckets; 404 a step were measured without it",
        ),
        Threshold(
            "max_median_bytes", SMALL_BYTES, "bytes", "below 1 MiB starting a collective takes longer than its transfer"
        ),
    ),
    references=("https://docs.pytorch.org/docs/stable/notes/ddp.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires with at least `min_calls` collectives a step whose median is below `max_median_bytes`."""
    calls = facts.communication.collectives.calls
    if not len(calls):
        yield not_applicable("no collective in the used steps")
        return
    found = facts.communication.collectives
    if facts.model.may_train and not (found.activations or found.messages):
        yield cannot_tell(
            "no backward pass was recorded: of a program that trains these collectives could be sent together, of one that only "
            "runs its model each needs the one before"
        )
        return
    if found.activations or found.messages or facts.model.infers:
        yield not_applicable(
            "activations are exchanged, each collective needs the one before: none can wait to be sent with others"
        )
        return
    per_step = facts.steps.per_step(len(calls))
    if per_step < limits["min_calls"]:
        yield clear(f"{per_step:.0f} collectives a step, below {limits['min_calls']:.0f}")
        return
    if not found.sizes_known:
        yield cannot_tell(f"how large the {per_step:.0f} collectives a step are: needs record_shapes=True")
        return
    median = found.median_bytes
    if median >= limits["max_median_bytes"]:
        yield clear(f"the median of {per_step:.0f} collectives a step is {size(median)}")
        return
    small, small_bytes = found.smaller_than(limits["max_median_bytes"])
    buckets = math.ceil(small_bytes / max(facts.steps.count, 1) / BUCKET_BYTES)
    kept = min(1.0, buckets * max(facts.steps.count, 1) / len(small))
    spans = facts.communication.spans_of(small)
    yield Finding(
        why=f"{per_step:.0f} collectives a step, the median of {size(median)}: each costs its start, whatever its size.",
        saving=Saving(
            claims=(movable(facts) & spans).scaled(1 - kept),
            basis="exposed time of the small collectives that buckets of 25 MiB would do away with; no waiting that is known",
        ),
        fix=_fix(facts),
        verify="Record again: a few collectives a step, of megabytes each.",
        steps_seen=facts.steps.count_with(spans),
        confidence=Confidence.MEDIUM,
        evidence=(_table(facts),),
    )


# Of more collectives than this the place is that of what the program sends.
_MOST_RATIO = 0.5
_AVERAGED = Advice(
    "python",
    "flat = torch.cat([parameter.detach().flatten() for parameter in parameters])\n"
    "torch.distributed.all_reduce(flat)   # once for all, every so many steps",
    "These are sent behind the update: weights that are averaged, not gradients. Together they cost one start; local SGD averages "
    "after several steps, not after each.",
)
_NUMBERS_TOGETHER = Advice(
    "python",
    "numbers = torch.stack(values)\ntorch.distributed.all_reduce(numbers)   # once for all of them",
    "Most of these collectives carry a few numbers each: norms, greatest values, flags, losses. Together they cost as much as one. "
    "Those of metrics can wait for the steps that log them.",
)
_SCALES = Advice(
    "python",
    "optimizer.step()\nprecompute_float8_dynamic_scale_for_fsdp(model)   # torchao.float8",
    "Where they are scales of float8 weights that FSDP gathers: all greatest values by one all-reduce behind the update.",
)


def _fix(facts: Facts) -> tuple[Advice, ...]:
    buckets = Advice(
        "python",
        "model = torch.nn.parallel.DistributedDataParallel(model)",
        "Gradients travel together, in buckets of 25 MiB; `bucket_cap_mb` makes them larger. "
        "SyncBatchNorm still sends for every layer: consider group normalisation.",
    )
    flat = Advice(
        "python",
        "flat = torch.cat([tensor.flatten() for tensor in tensors])\ntorch.distributed.all_reduce(flat)",
        "For collectives of your own: send once, then split.",
    )
    found = facts.communication.collectives
    if mostly_own_calls(facts) and (own := of_own_calls(facts)):
        return own
    if _of_few_numbers(facts):
        return (_NUMBERS_TOGETHER, _SCALES) if found.fsdp else (_NUMBERS_TOGETHER,)
    if found.sharded:
        return sharded.larger_units(facts)
    if facts.communication.behind_updates_ratio > _MOST_RATIO:
        return (_AVERAGED,)
    if not found.may_be_gradients:
        return (flat,)
    # DDP's own are what is reduced inside its nodes of the backward pass: buckets that are small.
    small_buckets = facts.communication.reduced_passes > 0
    return (flat, buckets) if found.data_parallel and not small_buckets else (buckets, flat)


def _of_few_numbers(facts: Facts) -> bool:
    """Whether most of the small ones carry a few numbers each, which no unit and no bucket holds."""
    sizes = facts.communication.collectives.calls["size_bytes"].to_numpy()
    return 2 * int((sizes <= FEW_BYTES).sum()) > len(sizes)


def _table(facts: Facts) -> Table:
    found, steps = facts.communication.collectives, max(facts.steps.count, 1)
    sizes = ((kind, *found.sizes_of(kind)) for kind in found.kinds)
    rows = tuple((kind[:60], round(number / steps, 1), median) for kind, number, median in sizes)
    columns = (Column("collective", "text"), Column("calls a step", "count"), Column("median size", "bytes"))
    return Table("collectives by kind", columns, rows)


RULE = Rule(META, check, __doc__)
