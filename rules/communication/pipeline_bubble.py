"""CO008 pipeline-bubble: ranks of a pipeline wait for messages during much of the step.

## What it finds
Pipeline parallelism in which stages stand still: at the beginning and the end of each step, and wherever one stage works longer
than the others.

## Why it costs time
With p stages and m microbatches a step of a 1F1B pipeline has p - 1 pieces of waiting beside m of work on every rank. A stage
that works longer adds its excess once more for each microbatch.

## How it is measured
Needs the traces of all ranks (`advisor explain FOLDER`). Sends and receives are matched, alone or in batches; what a rank is in
a message before the other one has come is waiting. Metric: waiting for messages / time of all ranks.

## Example
Slow:

```python
schedule = Schedule1F1B(stage, n_microbatches=8)  # eight stages: seven pieces of fifteen are waiting
```

Faster:

```python
schedule = Schedule1F1B(stage, n_microbatches=32)
```

## Fix
1. More microbatches a step: four times as many as there are stages leave a fifth of the step as waiting, eight times a ninth.
2. An interleaved or a zero-bubble schedule: several stages on each rank divide the waiting by their number.
3. Where one stage sets the pace, move layers from it; the last one has the loss, the first the embedding.

## Expected gain
At most what this rank waits for messages; on a rank of the stage that sets the pace, what balancing that saves the job. More
microbatches take away a part of it, and memory for activations is their price.

## When it is wrong
A pipeline whose ranks are not all here is not judged. Ranks that pass blocks around a ring are no pipeline. A late rank inside
a stage makes others wait too: that is CO003's.

## Thresholds
- `min_ratio`: share of the step in which ranks wait for messages.

## References
- Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM: bubble (p - 1) / m
- PyTorch documentation, torch.distributed.pipelining: schedules
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace, in_collectives, in_own_work
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.ranks.document import PipelinePart
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.communication import micro_batches, serving
from rules.communication.seen import among_others
from rules.purpose import by_purpose

META = RuleMeta(
    code="CO008",
    name="pipeline-bubble",
    family="communication",
    title="Stages of the pipeline stand still",
    thresholds=(
        Threshold(
            "min_ratio",
            0.2,
            "ratio",
            "a 1F1B pipeline with four microbatches a stage waits less: (p - 1) / (m + p - 1)",
        ),
    ),
    explains=("CO001", "CO002"),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when ranks of a pipeline wait for messages for a large enough share of the step."""
    place = among_others(facts)
    if isinstance(place, Outcome):
        yield place
        return
    pipe, row = place.job.pipeline, place.row
    if pipe is None or row is None:
        yield not_applicable("no pipeline: no rank sends to another along a chain of ranks that are all here")
        return
    if not pipe.stated and facts.communication.served_part is not None:
        yield cannot_tell(
            "whether ranks that send to one another are stages: this one has a backward pass without an update, or the reverse, "
            "as a parameter server and its workers have"
        )
        return
    if place.late is not None:
        yield clear(f"the others wait for rank {place.late.rank}, which is late: that comes first")
        return
    if pipe.bubble_ratio < limits["min_ratio"]:
        yield clear(
            f"ranks wait for messages in {share(pipe.bubble_ratio)} of the step, below {share(limits['min_ratio'])}"
        )
        return
    yield _finding(facts, place, pipe, float(row.waiting_ns or 0))


def _finding(facts: Facts, place: JobPlace, pipe: PipelinePart, waits_ns: float) -> Finding:
    paced = place.slow_stage
    pace = (
        ""
        if paced is None
        else f" {paced.cause_detail[:1].upper()}{paced.cause_detail[1:]}: balanced the step takes "
        f"{duration(paced.waited_ns_per_step)} less."
    )
    more = micro_batches.of_pipeline(
        pipe, "Four microbatches a stage or more: each step has the waiting of filling and emptying the pipeline once."
    )
    balance = Advice(
        "text",
        f"Move layers from stage {pipe.slowest} to others.",
        "All stages go at the pace of the one that works longest.",
    )
    ring = () if pipe.stated else ("Nothing calls these ranks a pipeline: it is told by who sends to whom.",)
    return Finding(
        why=f"In {share(pipe.bubble_ratio)} of the step ranks of a pipeline of {count(len(pipe.stages), 'stage')} wait for "
        f"messages; this rank waits {duration(waits_ns)} of it.{pace}",
        saving=_saving(facts, place, pipe, waits_ns),
        fix=(*(() if paced is None else (balance,)), *by_purpose(facts, serving.hide_more(facts), (more,))),
        verify="Record all ranks again: the share of the step in which ranks wait for messages should be lower.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM if pipe.stated else Confidence.LOW,
        evidence=(
            Bars(
                "work of a rank of each stage a step",
                "ns",
                tuple(Bar(f"stage {one.stage}", float(one.work_ns)) for one in pipe.stages[:_SHOWN]),
            ),
        ),
        caveats=(*(() if facts.model.infers else _PRICES), *ring),
    )


def _saving(facts: Facts, place: JobPlace, pipe: PipelinePart, waits_ns: float) -> Saving:
    """What this rank waits; on a rank of the stage that sets the pace, which waits least, what the job loses by its work."""
    paced = place.slow_stage
    mine = next((one.stage for one in pipe.stages if place.rank in one.ranks), None)
    if paced is None or mine != pipe.slowest:
        return Saving(
            in_collectives(facts.steps, facts.time, waits_ns),
            0,
            "what this rank waits; more batches on their way take away a part",
        )
    claims, kernel_ns = in_own_work(facts.device, facts.steps, facts.time, float(paced.waited_ns_per_step))
    return Saving(
        claims,
        kernel_ns,
        "what the job's step is shorter by where this stage works as long as the stages do in the mean",
    )


_PRICES = (
    "More microbatches need memory for their activations. Cut from the same batch each is smaller, and what it costs beside its "
    "samples is paid more often: try two or three numbers.",
)
_SHOWN = 16
RULE = Rule(META, check, __doc__)
