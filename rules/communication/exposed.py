"""CO001 exposed-communication: collectives run while nothing else does.

## What it finds
Time of the step in which the device (on a CPU-only trace, the process) is only inside collectives: no compute runs beside them.

## Why it costs time
A collective that runs beside the backward pass is nearly free. One with nothing beside it stretches the step by its whole length,
and that length holds two things: moving the data, and waiting until the slowest rank arrives.

## How it is measured
`|collective kernels - other kernels| / |used steps|` on the device (the cause `communication` of the waterfall); where one
process drives several devices through DataParallel, that is CO004's. On a CPU-only trace: ranges such as `gloo:all_reduce` on
any thread of the process while no op of the step's thread works; a node of the backward pass whose hook waits does not, nor
does `wait_tensor`, nor a `torch.autograd.Function` that began the collective. A message (`gloo:recv`) counts from when its
thread has nothing else to do. A busy device is no proof of work: waiting inside a collective counts as busy everywhere else.
The kind of a collective is what the range that launched it says, else what its kernel's name says. Where kernels state several
process groups (NCCL since torch 2.2), the time is told by group. Where the words of most of them say what they are for (`tp`,
`dp_shard`, `TENSOR_MODEL_PARALLEL_GROUP`), fixes are for those with most of it. Fixes for embedding tables are given only where
tables are looked up, those for gradients only where something is trained. There are separate fixes for the buffers that DDP
sends before each forward pass, and for what a program with DDP sends besides gradients, by where it does so: in the update,
after the backward pass, before the loss.

## Example
Slow:

```python
model = DistributedDataParallel(model)
for index, batch in enumerate(loader):
    loss_of(model, batch).backward()
```

Faster:

```python
model = DistributedDataParallel(model, gradient_as_bucket_view=True, bucket_cap_mb=50)
for index, batch in enumerate(loader):
    with model.no_sync() if (index + 1) % 4 else nullcontext():
        loss_of(model, batch).backward()
```

## Fix
1. Look at all ranks first: if one arrives late, the others wait for it, and no setting of the collectives helps. Stages of a
   pipeline wait however even they are: there it comes last. What one rank's trace shows to be sent needlessly, or between layers,
   comes before it: that pays whether or not a rank is late.
2. Move less: what the trace shows to be sent needlessly (gradients reduced in each of several passes before an update, buckets
   that are small, metrics in each step); 16-bit gradients (`bf16_compress_hook`, which rounds their sums: compare the loss),
   gradient accumulation under `no_sync()`, a larger batch per rank.
3. Hide more: bucket size, order of the layers, prefetching of sharded parameters (CO002). What an update gathers (ZeRO 1 and 2):
   larger pieces.
4. Activations exchanged between layers (tensor parallelism): fewer ranks a layer, on the links of one machine. Stages of a
   pipeline: more micro-batches a step.
5. A program that only runs its model has no gradients: more copies of the model on fewer ranks each, the all-reduce for small
   messages, two halves of a batch in turns.

## Expected gain
At most the exposed time. The part that is waiting for other ranks shrinks only when those get faster: where their traces tell how
much that is, it is left out.

## When it is wrong
From one rank's trace waiting and transferring cannot be told apart: a straggler elsewhere looks like slow communication here; the
traces of all ranks tell (`advisor explain FOLDER`). The first collectives of a run also hold the set-up of the connections.

## Thresholds
- `min_ratio`: share of the used steps from which the rule fires.

## References
- TraceLens: 5 %; TensorBoard plugin: 10 %; XProf: 3, 15 and 30 %; gpuprof: 20 and 40 %
- https://docs.pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Bar, Bars, Column, Confidence, Finding, Outcome, Saving, Table, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.communication.advice import certain, hide_more, move_less
from rules.communication.few_steps import in_few_steps
from rules.communication.ranks_read import (
    every_rank_is_here,
    every_rank_is_read,
    movable,
    others_wait_for_it,
    waiting_or_transferring,
    with_all_ranks,
)
from rules.communication.seen import not_seen

META = RuleMeta(
    code="CO001",
    name="exposed-communication",
    family="communication",
    title="Collectives with no compute beside",
    binds=("communication",),
    measures=("communication",),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "TraceLens warns from 5 %; XProf and TensorBoard from 3 and 10 %"),
    ),
    topics=frozenset({"overlap"}),
    references=("https://docs.pytorch.org/docs/stable/notes/ddp.html",),
)


_ALL = "collectives with nothing beside them; waiting for a slower rank shrinks only when that rank gets faster"
_BUT_WAITING = (
    "collectives with nothing beside them, but for what is known to be waiting for other ranks: that shrinks only when those get "
    "faster"
)
# Groups that a sentence names, and how much of what a program calls one.
_SHOWN = 4
_WORDS = 60
# Less of the step in no stated group is not worth a word.
_UNSTATED_RATIO = 0.01


def check(facts: Facts, limits: Limits, claimed: IntervalSet) -> Iterator[Finding | Outcome]:
    """Fires when exposed communication owns at least `min_ratio` of the used steps."""
    found = facts.communication.collectives
    unseen = not_seen(facts)
    if unseen is not None:
        yield unseen
        return
    left = found.exposed - claimed
    ratio = facts.steps.ratio(left.total_ns)
    if ratio < limits["min_ratio"]:
        of_others = " is that of others' findings, and the rest" if claimed & found.exposed else ""
        yield clear(
            f"exposed communication{of_others} is {share(ratio)} of the step, below {share(limits['min_ratio'])}"
        )
        return
    exposed, moves = duration(facts.steps.per_step(left.total_ns)), movable(facts)
    who = "the GPU" if facts.device.main else "training"
    yield Finding(
        why=f"For {exposed} of {facts.steps.each} ({share(ratio)}) {who} is only inside collectives: compute hides "
        f"{share(found.hidden_ratio)} of their time. {in_few_steps(facts, left)}{_in_groups(facts)}"
        f"{waiting_or_transferring(facts)}",
        saving=Saving(
            claims=moves - claimed,
            basis=_ALL if moves.total_ns == found.exposed.total_ns else _BUT_WAITING,
        ),
        fix=with_all_ranks(facts, tuple(dict.fromkeys((*move_less(facts), *hide_more(facts)))), certain(facts)),
        verify="Record every rank again with the same schedule: the share of CO001 should fall on all of them.",
        steps_seen=facts.steps.count_with(left),
        # What makes it late comes first.
        confidence=Confidence.LOW if others_wait_for_it(facts) else Confidence.HIGH,
        evidence=_evidence(facts),
        caveats=_caveats(facts),
    )


def _in_groups(facts: Facts) -> str:
    """Where collectives of several process groups are exposed: how much of it is in which, by what the program calls them."""
    found = facts.communication.collectives
    if len(found.groups) < 2:
        return ""
    parts = [
        f"{duration(facts.steps.per_step(one.exposed.total_ns))} in `{one.words[:_WORDS]}`{_of_ranks(one.size)}"
        for one in found.groups[:_SHOWN]
    ]
    if len(found.groups) > _SHOWN:
        parts.append(f"{count(len(found.groups) - _SHOWN, 'more group')}")
    unstated = found.exposed - IntervalSet.union(one.exposed for one in found.groups)
    if facts.steps.ratio(unstated.total_ns) >= _UNSTATED_RATIO:
        parts.append(f"{duration(facts.steps.per_step(unstated.total_ns))} in none that is stated")
    return f"By process group: {', '.join(parts)}. "


def _of_ranks(size: int | None) -> str:
    return "" if size is None else f" ({count(size, 'rank')})"


def _caveats(facts: Facts) -> tuple[str, ...]:
    caveats = []
    if every_rank_is_read(facts) and not every_rank_is_here(facts):
        caveats.append(
            "How much of it is waiting for slower ranks is not known: CO003 says what the traces lack for that."
        )
    elif not every_rank_is_here(facts):
        caveats.append("How much of it is waiting for slower ranks needs the traces of all ranks (CO003).")
    if facts.device.main is None and facts.health.sparse_host_events is not None:
        caveats.append("The training thread's ops are not in the trace: it may compute beside the collectives, unseen.")
    if facts.health.thinned is not None and facts.health.thinned.mostly:
        caveats.append("Most ops are missing from the file: what computes beside the collectives may be, too.")
    return tuple(caveats)


def _evidence(facts: Facts) -> tuple[Bars | Table, ...]:
    found = facts.communication.collectives
    compute = facts.time.waterfall.owned("compute").total_ns
    bars = Bars(
        "mean step",
        "ns",
        (
            Bar("collectives alone", facts.steps.per_step(found.exposed.total_ns)),
            Bar(
                "collectives beside compute",
                facts.steps.per_step(max(found.running.total_ns - found.exposed.total_ns, 0)),
            ),
            Bar("compute", facts.steps.per_step(compute)),
        ),
    )
    rows = tuple(_row(facts, kind) for kind in sorted({*found.kinds, *found.exposed_ns}))
    columns = (
        Column("collective", "text"),
        Column("calls a step", "count"),
        Column("median size", "bytes"),
        Column("exposed a step", "ns"),
    )
    return (bars, Table("collectives by kind", columns, rows)) if rows else (bars,)


def _row(facts: Facts, kind: str) -> tuple[str, float | None, float | None, float]:
    """What the table says of one kind of collective. Of one that no range on the host names, the calls are not known."""
    calls, median_bytes = facts.communication.collectives.sizes_of(kind)
    return (
        kind[:60],
        round(calls / max(facts.steps.count, 1), 1) if calls else None,
        median_bytes,
        facts.steps.per_step(facts.communication.collectives.exposed_ns.get(kind, 0)),
    )


RULE = Rule(META, check, __doc__)
