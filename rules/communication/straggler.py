"""CO003 straggler-rank: one rank arrives late, and all others wait for it inside their collectives.

## What it finds
A rank that spends clearly less time inside the collectives than the others, step after step: it is the one they wait for.

## Why it costs time
A collective ends when the last rank has arrived. Every other rank stands inside its call until then, which looks like slow
communication in its own trace and is none.

## How it is measured
Needs the traces of several ranks (`advisor explain FOLDER`). Steps in which all ranks run the same sequence of collectives
are matched; per step, the time inside collectives is compared between ranks. No clock is compared across machines. The rank with
the least such time arrived last. Metric: (longest - shortest) / step, and in how many steps it is the same rank. The waterfall then
says in which cause that rank spends more than the median of the others.

## Example
Slow:

```python
sampler = SequentialSampler(dataset)  # rank 0 gets the long sequences
```

Faster:

```python
sampler = LengthGroupedSampler(dataset, shuffle=True)  # equal work on every rank
```

## Fix
1. Look at the late rank's own report: its largest cause is what to change.
2. Give every rank the same work: equal lengths, equal numbers of samples, logging and checkpoints not on one rank alone.
3. If the rank is late in compute with the same work, its device is slower: clocks, temperature, other jobs.

## Expected gain
On the late rank, at most what the job loses by it: what the other ranks wait for it, in the mean, with no compute beside. It is
claimed in the causes in which the late rank spends more than they do. On any other rank, at most what that one waits for it.

## When it is wrong
Ranks that do different work on purpose (pipeline stages). A few steps may hit one rank by chance; the same rank in at least 60 % of
them is asked for. Ranks that are missing from the folder cannot be named.

## Thresholds
- `min_ratio`: share of the step from which the skew counts.
- `min_consistency_ratio`: share of the steps in which the same rank has to be last.

## References
- TraceML: 10 and 20 % of the step; HTA, straggler analysis
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.communication.ranks import RankSkew, lateness, waiting_for_others
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share

META = RuleMeta(
    code="CO003",
    name="straggler-rank",
    family="communication",
    title="The other ranks wait for a late one",
    binds=("communication",),
    thresholds=(
        Threshold("min_ratio", 0.10, "ratio", "TraceML warns from 10 % of the step and is critical from 20 %"),
        Threshold(
            "min_consistency_ratio", 0.6, "ratio", "the same rank in most steps, or it is chance (rules.md CO003)"
        ),
    ),
    explains=("CO001", "CO002"),
    topics=frozenset({"late_rank"}),
)

_WHERE = {
    "input": "waiting for its data loader",
    "compute": "computing",
    "sync": "waiting for its own device",
    "python": "Python code outside any op",
    "copy": "copies",
    "transfer_call": "copies to its device",
    "optimizer": "its optimizer",
    "allocator": "allocating memory",
    "compile": "compiling",
    "launch": "launching kernels",
    "framework": "dispatching ops",
}


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when one rank is last in most steps and the skew is a large enough share of the step."""
    if not facts.communication.collectives.running and not len(facts.communication.collectives.calls):
        yield not_applicable("no collective in the used steps")
        return
    if not facts.peers:
        yield cannot_tell("needs the traces of the other ranks: advisor explain FOLDER")
        return
    skew = facts.communication.rank_skew
    if skew is None:
        yield cannot_tell("no step has the same collectives on all ranks: record the same steps on every rank")
        return
    ratio = skew.skew_ns / skew.step_ns if skew.step_ns else 0.0
    if ratio < limits["min_ratio"]:
        yield clear(
            f"ranks differ by {share(ratio)} of the step inside collectives, below {share(limits['min_ratio'])}"
        )
        return
    if skew.consistency_ratio < limits["min_consistency_ratio"]:
        yield clear(
            f"no rank is late in most steps: the latest one in {share(skew.consistency_ratio)} of {len(skew.steps)}"
        )
        return
    late = skew.ranks[skew.late]
    where = f" It spends {duration(skew.lost_in[1])} more a step {_in(skew.lost_in[0])}." if skew.lost_in else ""
    mine = "This is that rank." if skew.late == 0 else "This rank waits for it."
    yield Finding(
        why=f"Rank {late} arrives last in {share(skew.consistency_ratio)} of {len(skew.steps)} matched steps; the others wait "
        f"{duration(skew.wait_ns)} a step for it ({share(skew.wait_ns / skew.step_ns)}).{where} {mine}",
        saving=_saving(facts, skew),
        fix=_fix(late, skew.lost_in[0] if skew.lost_in else None),
        verify="Record all ranks again: the times inside collectives should be alike, and CO003 clear.",
        steps_seen=min(len(skew.steps), facts.steps.count),
        confidence=Confidence.HIGH if len(skew.steps) >= 3 else Confidence.MEDIUM,
        evidence=(
            Bars(
                "time inside collectives a step",
                "ns",
                tuple(
                    Bar(f"rank {rank}", float(skew.in_collectives_ns[index].mean()))
                    for index, rank in enumerate(skew.ranks)
                ),
            ),
        ),
        caveats=("Ranks whose traces are not here may be later still.",),
    )


def _saving(facts: Facts, skew: RankSkew) -> Saving:
    """What the job loses by the late rank: on itself as what it spends more, on the others as what they wait."""
    if skew.late == 0:
        claims, kernel_ns = lateness(facts.device, facts.steps, facts.time, skew)
        return Saving(
            claims,
            kernel_ns,
            "what the other ranks wait for this one with no compute beside, where it spends more than they do",
        )
    return Saving(
        claims=waiting_for_others(facts.steps, facts.time, skew),
        basis="what this rank waits inside collectives beyond the late rank; it shrinks only when that rank gets faster",
    )


def _in(cause: str) -> str:
    where = _WHERE.get(cause, cause)
    return (
        f"in {where}"
        if not where.startswith(("waiting", "computing", "allocating", "compiling", "launching", "dispatching"))
        else where
    )


def _fix(late: int, cause: str | None) -> tuple[Advice, ...]:
    look = Advice("shell", f"advisor explain rank{late}.json", f"Rank {late}'s own report names what makes it late.")
    if cause == "input":
        work = Advice(
            "python",
            "sampler = DistributedSampler(dataset, shuffle=True)\nloader = DataLoader(dataset, sampler=sampler, num_workers=4)",
            "Every rank needs its own workers and an equal share of the data.",
        )
    elif cause == "compute":
        work = Advice(
            "shell",
            "nvidia-smi --query-gpu=index,clocks.sm,temperature.gpu,utilization.gpu --format=csv",
            "With equal work a rank that computes longer has a slower device; with unequal work, group samples by length.",
        )
    else:
        work = Advice(
            "text",
            "Give every rank the same work: logging, validation and checkpoints must not run on one rank alone inside the step.",
        )
    return (look, work)


RULE = Rule(META, check, __doc__)
