"""OP006 dense-embedding-gradients: gradients and updates of a whole embedding table, of which a batch looks up few rows.

## What it finds
`nn.Embedding` or `nn.EmbeddingBag` with a large table whose gradient is made for all rows, and an optimizer that passes over all of
them, though a batch names few.

## Why it costs time
The gradient of a lookup is a table of zeros, as large as the weights, into which the rows of the batch are added. Memory for it is
taken and filled in each step, and each pass of the optimizer reads and writes the whole table: 128 MB for a million rows of 32
numbers, of which a batch of 5,000 indices changes half a percent.

## How it is measured
`aten::embedding_dense_backward` and `aten::_embedding_bag_dense_backward`, the table's shape by the `aten::zero_` inside, the rows
by the number of indices (each may name another row). Beside that zeroing the ops that read a tensor of this shape in the
optimizer's step, and where gradients are added up, clipped or scaled; in lists of tensors by the table's part of their numbers.
Of several tables of one shape the rows of all count, as many as an update moves; lookups of one table add up. On a device their
kernels' time, without one their own. Unit: nanoseconds, shown as a share of the step.

Without shapes, and without a device, time tells: a lookup writes the rows of the batch, and filling the gradient writes all of
them, so that a fill of ten times the lookups' time is of a table of which few rows are looked up. The saving then holds the
gradients alone; the passes over the tables come on top.

## Example
Slow:

```python
self.items = nn.Embedding(1_000_000, 32)
```

Faster:

```python
self.items = nn.Embedding(1_000_000, 32, sparse=True)
```

## Fix
1. `sparse=True`, in every version of torch: the gradient holds the rows of the batch. SGD without momentum and weight decay, and
   Adagrad without weight decay, then update those alone, with the same result; neither with `fused=True`, which refuses them.
2. In place of Adam and AdamW: `torch.optim.SparseAdam` for the tables, a second optimizer for the rest. That is another training:
   moments of rows that are not in the batch stay as they are, and there is no weight decay.

## Expected gain
At most the making of the gradient and the passes over the table. Likely are zeroing and the passes without the rows of the batch.
With a million rows of 32 numbers, 5,120 indices a step and two CPU cores a step of SGD took 34 ms of CPU time in place of 203, one
of SparseAdam 172 in place of Adam's 760; with a tenth of the rows it takes about half as long as before.

## When it is wrong
Each index is taken for another row. Tables that are multiplied as well (tied to the head of a language model) have a dense
gradient anyway: the rule leaves them alone (without shapes where the backward pass adds up something as large), and so it does
with momentum in SGD, whose sparse buffers would grow, and with optimizers that refuse sparse gradients. NCCL reduces no sparse
gradients, gloo does; FSDP shards none. `mode="max"` of `EmbeddingBag` has none. Without shapes, a thread that had no core for as
long as filling takes tells nothing of tables.

## Thresholds
- `min_ratio`: share of the used steps that goes into whole tables from which the rule fires.
- `max_rows_ratio`: share of the rows looked up for an update up to which sparse gradients are worth it.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
- https://docs.pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
- https://github.com/pytorch/pytorch/issues/22400
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.model.dense_tables import DenseTable
from analyzer.finding import (
    Bar,
    Bars,
    Confidence,
    Finding,
    Outcome,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.optimizer.sparse_gradients import MOVED_OTHERWISE, refuses, sparse_caveats, sparse_fix
from rules.optimizer.tables_by_time import by_time
from rules.optimizer.whole_tables import WholeTables, saving_of, whole_tables
from traces.trace import Capability

META = RuleMeta(
    code="OP006",
    name="dense-embedding-gradients",
    family="optimizer",
    title="Dense gradients of embedding tables",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "below, any rule would call it low, and the change is one of the model"),
        Threshold(
            "max_rows_ratio", 0.1, "ratio", "with a tenth of the rows a CPU core takes half the time, with a third all"
        ),
    ),
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html",
        "https://github.com/pytorch/pytorch/issues/22400",
    ),
)

# SGD adds the gradient to the weights in one pass; momentum and weight decay take more.
_PLAIN_SGD = 1.0


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where zeroing and passing over tables of which few rows are looked up takes `min_ratio` of the used steps."""
    found = facts.model.dense_tables
    if not found.calls:
        yield not_applicable("no dense gradient of an embedding in the used steps")
        return
    if facts.device.unrecorded:
        yield cannot_tell("needs the device's work (ProfilerActivity.CUDA): how long the table takes is not known")
        return
    if not found.found:
        yield by_time(facts, limits)
        return
    tables = [table for table in found.found if table.touched_ratio <= limits["max_rows_ratio"]]
    if not tables:
        fewest = min(table.touched_ratio for table in found.found)
        yield clear(
            f"{share(fewest)} of a table's rows are looked up for an update, above {share(limits['max_rows_ratio'])}"
        )
        return
    cost = whole_tables(facts, tables)
    ratio = facts.steps.ratio(cost.useless_ns)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"zeroing and passing over whole tables takes {share(ratio)} of the step, below {share(limits['min_ratio'])}"
        )
        return
    free = [table for table in tables if table.used_by is None]
    refused = _refused(facts, tables) if not free else _kept(facts, free)
    if refused is not None:
        yield refused
        return
    cost = whole_tables(facts, free)
    if facts.steps.ratio(cost.useless_ns) >= limits["min_ratio"]:
        yield _finding(facts, free, cost)
        return
    yield _refused(facts, [table for table in tables if table.used_by is not None])


def _refused(facts: Facts, tables: list[DenseTable]) -> Outcome:
    """Why tables that are read by other ops keep their dense gradient."""
    largest = max(tables, key=lambda table: table.rows * table.width)
    return clear(
        f"`{largest.used_by}` reads a matrix of {largest.rows:,} x {largest.width:,} as well, as of a head tied to the table: its "
        "gradient is dense anyway"
    )


def _kept(facts: Facts, tables: list[DenseTable]) -> Outcome | None:
    """Why sparse gradients would not go with the rest of the program; None where they do."""
    refused = refuses(facts)
    if refused is None and facts.model.optimizing.class_name == "SGD" and _moved_otherwise(facts, tables):
        return clear(MOVED_OTHERWISE)
    return refused


def _moved_otherwise(facts: Facts, tables: list[DenseTable]) -> bool:
    """Whether momentum or weight decay moves rows that are not in the batch."""
    if facts.model.dense_tables.lists_hidden:
        return facts.model.optimizing.foreach_kinds > _PLAIN_SGD
    return any(table.passes > _PLAIN_SGD for table in tables)


def _finding(facts: Facts, tables: list[DenseTable], cost: WholeTables) -> Finding:
    work = facts.model.optimizing
    largest = max(tables, key=lambda table: table.rows * table.width)
    each = facts.steps.per_step
    several = largest.tables > 1
    it = "them" if several else "it"
    passes = (
        f", and {duration(each(cost.passes_ns))} go into ops that pass over all of {it}"
        if cost.passes_ns
        else f"; how long the optimizer's lists take for {it} was not recorded"
    )
    more = f" ({count(len(tables), 'shape')} of tables together)" if len(tables) > 1 else ""
    gradients = (
        f"The gradients of {largest.tables:,} embeddings are whole tables of {largest.rows:,} rows each, of all of which"
        if several
        else f"The gradient of an embedding is a whole table of {largest.rows:,} rows, of which"
    )
    return Finding(
        why=(
            f"{gradients} an update looks up at most {share(largest.touched_ratio)}. In {facts.steps.each} filling {it} "
            f"with zeros takes {duration(each(cost.zeroing_ns))}{passes}{more}."
        ),
        saving=saving_of(facts, cost),
        fix=sparse_fix(facts),
        verify="Record again with shapes: no `aten::embedding_dense_backward`, and no op of the optimizer over the table's shape.",
        steps_seen=facts.steps.count_with(cost.spans),
        confidence=Confidence.HIGH if work.class_name == "SGD" and cost.passes_ns else Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step, " + ("on the device" if facts.device.main is not None else "on the host"),
                "ns",
                (
                    Bar("filling gradients with zeros", each(cost.zeroing_ns)),
                    Bar("passes over whole tables", each(cost.passes_ns)),
                    Bar("adding the rows of the batch", each(cost.others_ns)),
                ),
            ),
        ),
        caveats=sparse_caveats(work.class_name),
    )


RULE = Rule(META, check, __doc__)
