"""CP001 wrong-thread-count: a CPU run uses one thread on several cores, or more threads than cores.

## What it finds
CPU-only training whose matrix work runs on one thread although more cores may be used, or whose thread pool is larger than
the number of cores.

## Why it costs time
Multiplications and convolutions are split over torch's intra-op threads. One thread leaves the other cores idle; more
threads than cores take turns, and each parallel region ends with its slowest thread.

## How it is measured
Threads and cores as recorded by `advisor collect`, and the time inside the ops that multiply, on the step's thread; what is
over in 10 us is too small to be split. With one thread the bound is that time less its share on all cores,
`time x (1 - 1 / cores)`: perfect scaling. What too many threads cost cannot be told from one recording. A variable that asks for
the one thread is named; its time is this rule's, and not CP003's too.

## Example
Slow:

```python
torch.set_num_threads(1)
```

Faster:

```python
torch.set_num_threads(len(os.sched_getaffinity(0)))
```

## Fix
1. As many threads as cores the process may use: `torch.set_num_threads`, or `OMP_NUM_THREADS` before start.
2. Leave a core to each loader worker.
3. On machines with several sockets: `numactl --cpunodebind=0 --membind=0`.

## Expected gain
At most the bound; memory-bound layers scale far worse than that.

## When it is wrong
Several processes on one machine share its cores: one thread each may be right. Hyper-threads count as cores here and add
little. Where `advisor collect` saw that even the one thread waited for a core, so that the matrix work without that time is below
the threshold, the rule cannot tell.

## Thresholds
- `min_matrix_ratio`: share of the used steps in matrix work from which one thread is worth a word.

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.changes import set_by_program
from rules.commands import run
from traces.trace import Capability

# From here on half of them, and a quarter, are worth a try: with two or four cores there is next to nothing between.
_MANY_CORES = 8
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
META = RuleMeta(
    code="CP001",
    name="wrong-thread-count",
    family="cpu",
    title="Threads do not match the cores",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold(
            "min_matrix_ratio", 0.2, "ratio", "as for a high finding: below, more threads change little of the step"
        ),
    ),
    topics=frozenset({"symptom"}),
    before=("CP003",),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    outside=("threads",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires on one thread for much matrix work, and on more threads than cores."""
    if facts.device.main is not None or facts.device.unrecorded:
        yield not_applicable("the device computes, not the CPU")
        return
    threads, cores = facts.recording.collected.intra_op_threads, facts.recording.collected.cores
    if threads is None or cores is None:
        yield cannot_tell("threads and cores are not in the trace; `advisor collect` records them")
        return
    matrix = facts.kernels.cpu_work.matrix & facts.time.waterfall.owned("compute")
    ratio = facts.steps.ratio(matrix.total_ns)
    if threads > cores:
        yield _too_many(facts, threads, cores)
        return
    if threads > 1 or cores == 1 or ratio < limits["min_matrix_ratio"]:
        workers = facts.recording.collected.num_workers or 0
        beside = f" beside {count(workers, 'loader worker')}" if workers else ""
        yield clear(
            f"{count(threads, 'thread')}{beside} on {count(cores, 'core')}; matrix work is {share(ratio)} of the step"
        )
        return
    if facts.steps.ratio(matrix.total_ns - facts.time.without_core_ns) < limits["min_matrix_ratio"]:
        yield cannot_tell(
            f"matrix work is {share(ratio)} of the step, on one thread, which {facts.time.core_words} of it: another thread may "
            "find none either; record on a quiet machine"
        )
        return
    yield Finding(
        why=f"Matrix work takes {duration(facts.steps.per_step(matrix.total_ns))} of {facts.steps.each} "
        f"({share(ratio)}) on one thread{_asked_for(facts)}; "
        f"the process may use {count(cores, 'core')}.",
        saving=Saving(matrix.scaled(1 - 1 / cores), basis=f"matrix work spread perfectly over {cores} cores"),
        fix=_fix(facts, cores),
        verify="Record again: the matrix ops should become shorter; then run `advisor compare`.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(_evidence(facts, matrix.total_ns, cores),),
        caveats=("Where several processes share the machine, one thread each may be right.", *_hyper_threads(cores)),
    )


def _asked_for(facts: Facts) -> str:
    """Words for the variables that ask for one thread; empty where none does."""
    environment = facts.recording.collected.environment or {}
    named = " and ".join(f"`{name}=1`" for name in _VARIABLES if environment.get(name) == "1")
    return f", as {named} {'ask' if ' and ' in named else 'asks'} for" if named else ""


def _evidence(facts: Facts, matrix_ns: int, cores: int) -> Bars:
    now = facts.steps.per_step(matrix_ns)
    return Bars("mean step", "ns", (Bar("matrix work, one thread", now), Bar("on all cores, at best", now / cores)))


def _hyper_threads(cores: int) -> tuple[str, ...]:
    """What the number of cores does not say; nothing where there are so few that they are tried in a minute."""
    if cores < _MANY_CORES:
        return ()
    return (
        f"Hyper-threads count among the {cores} and add little, and short ops gain little from many threads: time "
        f"{cores // 2} and {cores // 4} as well.",
    )


def _too_many(facts: Facts, threads: int, cores: int) -> Finding:
    return Finding(
        why=f"torch uses {count(threads, 'thread')} on {count(cores, 'core')}: they take turns in every parallel op.",
        saving=Saving(basis="what taking turns costs cannot be told from one recording"),
        fix=_fix(facts, cores),
        verify="Record again with fewer threads and run `advisor compare before.json after.json`.",
        steps_seen=facts.steps.count,
        confidence=Confidence.LOW,
        title="More threads than cores",
    )


def _fix(facts: Facts, cores: int) -> tuple[Advice, ...]:
    own = set_by_program(facts, _VARIABLES)
    outside = Advice(
        "shell",
        run(facts, f"OMP_NUM_THREADS={cores}"),
        "The same from outside, where the program does not set it itself; a cluster's default is often 1.",
    )
    inside = Advice(
        "python", f"torch.set_num_threads({cores})", "Before the first op; loader workers need cores as well."
    )
    if own:
        return (*own, inside)
    return (outside, inside) if _asked_for(facts) else (inside, outside)


RULE = Rule(META, check, __doc__)
