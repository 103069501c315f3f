"""CO003 straggler-rank: one rank arrives late, and all others wait for it inside their collectives.

## What it finds
A rank that spends clearly less time inside the collectives than the others, step after step: it is the one they wait for.

## Why it costs time
A collective ends when the last rank has arrived. Every other rank stands inside its call until then, which looks like slow
communication in its own trace and is none.

## How it is measured
Needs the traces of several ranks (`advisor explain FOLDER`). Collectives are matched by process group and number, in any mix of
data, tensor, pipeline and expert parallelism. What each rank spends between two collectives is held against the median of its
peers, ranks that run the same program; the job is then played again with one rank's work as its peers' (what-if). Metric:
(step - step without what the rank does beyond them) / step, and in how many steps it is late. A rank that is late because it
waited is not blamed. The same kernels on the same shapes that take longer are a slow device, more or larger ones an imbalance; the
rest is the host's. A class is named where it explains at least 80 %. A step in which some ranks run another loop is in no figure of
theirs: the others wait there for as long as they are in collectives beyond what they are in other steps. Where each step waits for
another rank, as with sequences of other lengths, no rank is late: the job is played again with each step's work shared evenly.
Of several that are equally late each alone costs nothing: it is played again with all of them as their peers.

## Example
Slow:

```python
part = len(samples) // ranks
mine = sorted(samples, key=len)[rank * part : (rank + 1) * part]  # the last rank gets the long sequences
```

Faster:

```python
mine = sorted(samples, key=len)[rank::ranks]  # batches of like lengths on every rank; shuffle them alike on all
```

## Fix
1. Look at the late rank's own report: its largest cause is what to change.
2. Give every rank the same work: equal lengths, equal numbers of samples, logging and checkpoints not on one rank alone.
3. If the rank is late in compute with the same work, its device is slower: clocks, temperature, other jobs.

## Expected gain
What the job's step is shorter by with this rank as its peers; where it has more of the same to compute, or gets more of all-to-alls
(CO009), with that shared evenly: of two ranks half of it.
On the late rank it is claimed in the causes in which that spends more than the others do; on any other rank in what that one waits.

## When it is wrong
Ranks that do different work on purpose (pipeline stages). A few steps may hit one rank by chance; the same rank in at least 60 % of
them is asked for, or so many of all late steps, or such distances between them, that chance gives them to one rank less than once
in twenty times: a checkpoint in each sixth step is told from three steps on that have one. Ranks that are
missing from the folder cannot be named.

## Thresholds
- `min_ratio`: share of the step that the rank has to cost the job.
- `min_consistency_ratio`: share of the steps in which the same rank has to be late.
- `max_chance_ratio`: below it a rank that is late in fewer steps is late all the same: how likely chance gives one as many of them.

## References
- TraceML: 10 and 20 % of the step; HTA, straggler analysis; ByteDance, What-if analysis of stragglers (OSDI'25)
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace, lateness, waiting_for_others
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.ranks.document import LateRank
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.communication.now_and_then import SAVED_BESIDE, by_turns, of_loop, of_more_work, unread
from rules.communication.ranks_read import shared_ratio
from rules.communication.seen import among_others
from rules.communication.several import of_several

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
        Threshold("max_chance_ratio", 0.05, "ratio", "one in twenty, as tests of significance are held"),
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
    """Fires when one rank is late in most steps and costs the job a large enough share of the step."""
    place = among_others(facts)
    if isinstance(place, Outcome):
        yield place
        return
    matched = place.job.matched
    if not matched.matched:
        yield cannot_tell(f"no collective of one rank could be matched with another's{_told(matched.why_none)}")
        return
    if matched.why_none:
        yield cannot_tell(f"{matched.why_none[:1].lower()}{matched.why_none[1:].removesuffix('.')}")
        return
    loop = next((one for one in place.job.other_loops if one.waited_ratio >= limits["min_ratio"]), None)
    if loop is not None and place.late is None:
        yield of_loop(facts, place, loop)
        return
    turns = place.job.turns
    turned_ratio = turns.saved_ns_per_step / place.job.step_ns if turns is not None and place.job.step_ns else 0.0
    if turns is not None and place.late is None and turned_ratio >= limits["min_ratio"]:
        yield by_turns(facts, place, turns, turned_ratio)
        return
    several = place.job.together
    several_ratio = several.saved_ns_per_step / place.job.step_ns if several is not None and place.job.step_ns else 0.0
    if several is not None and place.late is None and several_ratio >= limits["min_ratio"]:
        yield of_several(facts, place, several, several_ratio)
        return
    late = place.late
    ratio = late.waited_ns_per_step / place.job.step_ns if late is not None else place.most_ratio
    if late is None or ratio < limits["min_ratio"]:
        yield clear(
            f"no rank costs the others more than {share(ratio)} of the step, below {share(limits['min_ratio'])}"
        )
        return
    consistent = late.steps_late / late.of if late.of else 0.0
    if consistent < limits["min_consistency_ratio"] and late.chance_ratio >= limits["max_chance_ratio"]:
        yield clear(f"no rank is late in most steps: the latest one in {share(consistent)} of {late.of}")
        return
    yield _finding(facts, place, late, ratio)


def _finding(facts: Facts, place: JobPlace, late: LateRank, ratio: float) -> Finding:
    more = next(iter(place.more_in), None)
    where = f" It spends {duration(more[1])} more a step {_in(more[0])}." if more else ""
    since = "" if late.since_step is None else f" from step {late.since_step} on"
    since += "" if late.every is None else f", in one of every {count(late.every, 'step')}"
    mine = "This is that rank." if place.is_late else "This rank waits for it."
    return Finding(
        why=f"Rank {late.rank} arrives last in {share(late.steps_late / late.of)} of {count(late.of, 'matched step')}{since}; "
        f"{_others(late)} {duration(late.waited_ns_per_step)} a step for it ({share(ratio)}).{where} {_class(late)} {mine}",
        saving=_saving(facts, place),
        fix=_fix(facts, late, more[0] if more else None, _file(place, late)),
        verify="Record all ranks again: the times inside collectives should be alike, and CO003 clear.",
        steps_seen=min(late.of, facts.steps.count),
        confidence=Confidence(late.confidence) if late.cause != "not clear" else Confidence.MEDIUM,
        evidence=(
            Bars(
                "time inside collectives a step",
                "ns",
                tuple(Bar(f"rank {row.rank}", float(row.in_collectives_ns or 0)) for row in place.used[:_SHOWN]),
            ),
        ),
        caveats=unread(place),
    )


def _told(why: str | None) -> str:
    return ": record the same steps on every rank" if why is None else f". {why.removesuffix('.')}"


_SHOWN = 16
_CLASSES = {
    "device": "Its kernels are the same, on the same shapes, and take longer.",
    "host": "Its host is what is late.",
    "link": "It moves its data more slowly.",
    "stage": "It is in the stage that works longest.",
}


def _class(late: LateRank) -> str:
    if late.runs_more:
        return f"{late.cause_detail[:1].upper()}{late.cause_detail[1:]}."
    if late.cause == "imbalance":
        return f"It has {late.cause_detail}."
    return _CLASSES.get(late.cause, f"Why is not clear: {late.cause_detail}.")


def _others(late: LateRank) -> str:
    return "the others that are here wait up to" if late.at_most else "the others wait"


def _saving(facts: Facts, place: JobPlace) -> Saving:
    """What the job loses by the late rank: on itself as what it spends more, on the others as what they wait."""
    part = shared_ratio(place)
    shared = ", and that shared among them" if part < 1 else ""
    if place.is_late:
        claims, kernel_ns = lateness(facts.device, facts.steps, facts.time, place)
        return Saving(
            claims.scaled(part),
            int(kernel_ns * part),
            f"what the job's step is shorter by with this rank as its peers, where it spends more than they do{shared}",
        )
    return Saving(
        claims=waiting_for_others(facts.steps, facts.time, place).scaled(part),
        basis="what this rank waits for others, up to what the job's step is shorter by with the late rank as its peers"
        + shared,
    )


def _file(place: JobPlace, late: LateRank) -> str:
    named = next((row.file for row in place.used if row.rank == late.rank and row.file), f"rank_{late.rank}.json")
    return shlex.quote(named)


def _in(cause: str) -> str:
    where = _WHERE.get(cause, cause)
    return (
        f"in {where}"
        if not where.startswith(("waiting", "computing", "allocating", "compiling", "launching", "dispatching"))
        else where
    )


_ITS_CORES = Advice(
    "text",
    "Give that rank cores of its own, of the socket that its device is at (`numactl --cpunodebind`, or the launcher's "
    "binding), and look "
    "at what else runs on them. Where each launch is waited for: graphs, which need few launches.",
    "It calls the same ops, and each takes its host longer.",
)
_ITS_OWN_CORES = Advice(
    "text",
    "Give that rank cores of its own (the launcher's binding, `taskset`), and look at what else runs on them.",
    "It calls the same ops, and each takes its cores longer.",
)
_WITH_SHAPES = Advice(
    "python",
    "profile(..., record_shapes=True)   # or advisor collect, which does",
    "Shapes tell more work from slower cores. With unequal work: group samples by length, and give every rank equally many.",
)
_EITHER = Advice(
    "text",
    "Give that rank cores of its own (the launcher's binding, `taskset`), and every rank equal work; then record all again.",
    "Neither slower cores nor more work alone explain it by the shapes that were recorded.",
)
_SAME_BETWEEN_PASSES = Advice(
    "text",
    "Look at what this rank alone does between passes: the schedule, inputs made for all ranks, tokens and answers handled.",
    "Beside the pass before (an engine's setting for scheduling ahead), or in a process of its own, nobody waits for it.",
)


def _fix(facts: Facts, late: LateRank, cause: str | None, file: str) -> tuple[Advice, ...]:
    rank = late.rank
    look = Advice("shell", f"advisor explain {file}", f"Rank {rank}'s own report names what makes it late.")
    if late.runs_more or late.cause == "imbalance":
        work = of_more_work(late)
    elif cause == "input":
        work = Advice(
            "python",
            "sampler = DistributedSampler(dataset, shuffle=True)\nloader = DataLoader(dataset, sampler=sampler, num_workers=4)",
            "Every rank needs its own workers and an equal share of the data.",
        )
    elif late.every is not None and late.cause == "host":
        work = SAVED_BESIDE
    elif cause == "compute" and facts.device.main is None:
        unclear = _EITHER if facts.recording.has_shapes else _WITH_SHAPES
        work = _ITS_OWN_CORES if late.cause == "device" else unclear
    elif cause == "compute":
        work = Advice(
            "shell",
            "nvidia-smi --query-gpu=index,clocks.sm,temperature.gpu,utilization.gpu --format=csv",
            "With equal work a rank that computes longer has a slower device; with unequal work, group samples by length.",
        )
    elif cause in ("launch", "framework"):
        work = _ITS_CORES
    elif facts.model.infers and not facts.model.may_train:
        work = _SAME_BETWEEN_PASSES
    else:
        work = Advice(
            "text",
            "Give every rank the same work: logging, validation and checkpoints must not run on one rank alone inside the step.",
        )
    return (look, work)


RULE = Rule(META, check, __doc__)
