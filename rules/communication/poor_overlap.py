"""CO002 poor-overlap: collectives hardly run beside compute.

## What it finds
A data-parallel run that communicates, but not while it computes.

## Why it costs time
Gradients of the last layers are ready long before the backward pass ends. Reduced in pieces as they come, they travel while the
rest is computed; reduced at the end, or on the stream that computes, everything else waits.

## How it is measured
`1 - |collectives alone| / |collectives|` over the used steps, where collectives alone take at least `min_exposed_ratio` of the
step. The bound is what overlap could hide: at most the compute that no collective runs beside. The reason comes from the trace:
collectives that start after the last compute of the step, that share its stream, or a single one per step; and gathers that start
when a reduce-scatter ends and were launched long before, which one communicator sends one at a time.

## Example
Slow:

```python
loss.backward()
for parameter in model.parameters():
    torch.distributed.all_reduce(parameter.grad)
```

Faster:

```python
model = torch.nn.parallel.DistributedDataParallel(model)
loss.backward()
```

## Fix
1. Gradients: let DistributedDataParallel or FSDP reduce: they start while the backward pass runs.
2. Smaller buckets (`bucket_cap_mb`; where nothing is given the first has 1 MiB, the others 25); wrap in DDP before
   `torch.compile`.
3. FSDP: `backward_prefetch=BackwardPrefetch.BACKWARD_PRE`, `forward_prefetch=True`; FSDP2: `set_modules_to_forward_prefetch`.
   That hides gathers. Where reduce-scatters stand alone: a unit for each block, no `CUDA_DEVICE_MAX_CONNECTIONS=1`. Where gathers
   wait for them: a communicator each (`set_separate_reduce_scatter_group`).
4. Activations between layers (tensor parallelism): sequence parallelism and asynchronous products. Stages of a pipeline: more
   micro-batches, an interleaved schedule.

## Expected gain
At most the exposed time that compute without a collective beside it could hide, but for what the other ranks' traces tell to be
waiting. CO001 counts the same time, whatever its cause.

## When it is wrong
Where there is far more communication than compute, overlap can hide little: send less (CO001). A collective that waits for a
slow rank looks badly overlapped.

## Thresholds
- `min_hidden_ratio`: share of the collectives' time beside compute below which the rule fires.
- `min_exposed_ratio`: share of the step that collectives alone must take.

## References
- TraceLens: overlap below 70 %; HolisticTraceAnalysis: communication/computation overlap
- https://github.com/pytorch/pytorch/pull/177015 (one communicator for gathers and reduce-scatters)
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.communication.advice import hide_more
from rules.communication.kinds import mostly_numbers
from rules.communication.ranks_read import movable, others_wait_for_it
from rules.communication.sharded import gathers_wait
from traces.trace import Capability

META = RuleMeta(
    code="CO002",
    name="poor-overlap",
    family="communication",
    title="Collectives hardly beside compute",
    binds=("communication",),
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold("min_hidden_ratio", 0.70, "ratio", "TraceLens asks for 70 %"),
        Threshold("min_exposed_ratio", 0.05, "ratio", "as CO001: below, there is nothing to hide"),
    ),
    topics=frozenset({"overlap"}),
    references=("https://docs.pytorch.org/docs/stable/notes/ddp.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when less than `min_hidden_ratio` of noticeable communication runs beside compute."""
    found = facts.communication.collectives
    if not found.running:
        yield not_applicable("no collective on the device in the used steps")
        return
    if facts.communication.replicated_passes and len(facts.device.all) > 1:
        yield not_applicable(
            "DataParallel copies parameters before its pass and adds up gradients behind it: no setting moves them"
        )
        return
    exposed = facts.steps.ratio(found.exposed.total_ns)
    if exposed < limits["min_exposed_ratio"] or found.hidden_ratio >= limits["min_hidden_ratio"]:
        yield clear(
            f"compute hides {share(found.hidden_ratio)} of the collectives; alone they take {share(exposed)} of the step"
        )
        return
    alone = facts.time.waterfall.owned("compute") - found.running
    moves = movable(facts)
    part = min(1.0, alone.total_ns / max(moves.total_ns, 1))
    yield Finding(
        why=f"Only {share(found.hidden_ratio)} of the collectives' time runs beside compute{_reason(facts)}; alone they take "
        f"{share(exposed)} of the step.",
        saving=Saving(
            claims=moves.scaled(part),
            basis="collectives alone, as far as compute without a collective beside it could hide them; no waiting that is known",
        ),
        fix=_fix(facts),
        verify=f"Record again: collectives should {_where(facts)}; the hidden share should pass 70 %.",
        steps_seen=facts.steps.count_with(found.exposed),
        confidence=Confidence.LOW if others_wait_for_it(facts) else Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step",
                "ns",
                (
                    Bar("collectives beside compute", facts.steps.per_step((found.running - found.exposed).total_ns)),
                    Bar("collectives alone", facts.steps.per_step(found.exposed.total_ns)),
                    Bar("compute alone", facts.steps.per_step(alone.total_ns)),
                ),
            ),
        ),
        caveats=("A collective that waits for a slower rank looks badly overlapped: compare all ranks first (CO003).",),
    )


def _reason(facts: Facts) -> str:
    """What the trace shows of why, for the sentence; empty where it shows nothing."""
    collective = facts.kernels.named.collective
    # What runs in the steps may all have begun before them.
    if not collective.any():
        return ""
    if facts.kernels.named.shares_streams(collective) > 0.5:
        return ", because they share the stream that computes"
    if gathers_wait(facts):
        return ", because parameters are gathered behind reduce-scatters, one at a time, while layers wait for them"
    if facts.steps.count and collective.sum() <= facts.steps.count:
        return ", because all of it is one collective a step"
    return ""


def _where(facts: Facts) -> str:
    return "run beside compute" if facts.model.infers else "start before the backward pass ends"


def _fix(facts: Facts) -> tuple[Advice, ...]:
    wrap = Advice(
        "python",
        "model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])\nmodel = torch.compile(model)",
        "Where the program itself reduces gradients: this does so bucket by bucket, as soon as each is complete. Wrap first, "
        "compile afterwards. A library that reduces them (DeepSpeed, Horovod) has settings of its own.",
    )
    found = facts.communication.collectives
    by_module = found.data_parallel or found.sharded or found.library
    known = facts.model.infers or by_module or facts.communication.passing.stages or found.activations
    no_gradients = not found.may_be_gradients or mostly_numbers(facts)
    return hide_more(facts) if known or no_gradients else (wrap, *hide_more(facts))


RULE = Rule(META, check, __doc__)
