"""PY004 gc-pauses: Python's garbage collector stops the training thread.

## What it finds
Pauses in which Python looks for unreachable objects, recorded or inferred.

## Why it costs time
A full collection visits every object of the process, which takes longer the more the program has made: 0.1 to 1 s in large
programs. Nothing is launched meanwhile, and with several ranks all wait for the one that pauses.

## How it is measured
Recorded: `Python GC` events (`advisor collect` with torch 2.1 and newer, the young generation left out; or torch 2.9 with
`with_stack=True` and `record_python_gc_info=True`), as far as the device idles (on a CPU-only trace: no op runs). What they
take of a loader's call counts here, not as loading; inside a compilation it goes with that (GR003). Inferred, where collections
were not recorded: at least 10 ms without any event on any thread of the process, in less than half of more than three steps.
Their sum as a share of the used steps counts, or one pause as a share of the median step. Unit: nanoseconds.

## Example
Slow:

```python
for step, batch in enumerate(loader):
    train_step(batch)
```

Faster:

```python
gc.collect()
gc.freeze()
gc.disable()
for step, batch in enumerate(loader):
    train_step(batch)
    if step % 50 == 0:
        gc.collect(1)
```

## Fix
1. Where the program itself calls `gc.collect()` in the step: leave it out, or call it every so many steps.
2. Before the loop `gc.collect(); gc.freeze(); gc.disable()`; in the loop `gc.collect(1)` every 50 steps, on all ranks at once.
3. Make fewer objects that refer to each other, such as lists of graphs kept alive through `loss` without `detach()`.

## Expected gain
At most the pauses. torchtitan gains 1.5 % with 512 GPUs; nanochat had pauses of 0.7 s in steps of 0.68 s.

## When it is wrong
Inferred pauses are possible ones only: an operating system that gives the CPU to another process looks the same. Where
`advisor collect` saw that the thread had no core for as long, the rule cannot tell, nor where ops, in which no collection
runs, stood still about as often as Python between them, for 10 ms as pauses do, or for 2 ms. A pause in one of the recorded steps
says nothing of how often it comes. Where pauses take more of each recorded step than the passes would that `advisor collect` counts
in the steps of the run without the profiler, each as long as a recorded one, they come less often there; so they do where those
steps exceed their median by less in the mean, or where pauses are in most steps, and a whole one takes less. The finding then says
so, is low, and calls no more likely than there is room for. A program that makes circular garbage with tensors in it needs
the collector to free them.

## Thresholds
- `min_ratio`: share of the used steps inside pauses from which the rule fires.
- `min_step_ratio`: share of the median step that a single recorded pause takes from which it fires.

## References
- https://github.com/pytorch/pytorch/pull/161209
- https://github.com/pytorch/torchtitan/pull/148
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Finding,
    Location,
    Outcome,
    Saving,
    Severity,
    cannot_tell,
    clear,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.collecting import COLLECT_NOT_EACH, PASS_OVER
from traces.trace import Capability

META = RuleMeta(
    code="PY004",
    name="gc-pauses",
    family="python",
    title="Garbage collector pauses training",
    binds=("python",),
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold("min_ratio", 0.02, "ratio", "below 2 % of the step a finding goes on no card"),
        Threshold("min_step_ratio", 0.5, "ratio", "a pause of half a step makes every rank wait that long"),
    ),
    explains=("PY005",),
    before=("ID001", "PY001"),
    references=("https://github.com/pytorch/pytorch/pull/161209", "https://github.com/pytorch/torchtitan/pull/148"),
    measured=True,
    outside=("collector",),
)
_RECORD = "`advisor collect`"
_BY_HAND = "with_stack=True, experimental_config=torch._C._profiler._ExperimentalConfig(record_python_gc_info=True)"


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when pauses take at least `min_ratio` of the used steps, or one is as long as half a step."""
    pauses = facts.time.pauses
    recorded = bool(pauses.collected) or facts.recording.collected.gc_recorded
    time = pauses.collected if recorded else pauses.silent
    ratio = facts.steps.ratio(time.total_ns)
    longest = time.longest_ns
    median = facts.steps.median_ns
    long_one = recorded and longest >= limits["min_step_ratio"] * median
    if ratio < limits["min_ratio"] and not long_one:
        seen = "recorded garbage collections take" if recorded else "silent pauses that may be garbage collections take"
        yield clear(f"{seen} {share(ratio)} of the steps, below {share(limits['min_ratio'])}")
        return
    undecided = None if recorded else _undecided(facts, limits, time)
    if undecided is not None:
        yield undecided
        return
    room = facts.time.collected_in_run_ns if recorded else None
    seldom = _seldom(facts, time) if room is not None else None
    yield Finding(
        why=_why(facts, time, longest, recorded=recorded),
        saving=_saving(facts, time, room),
        fix=_fix(facts, recorded=recorded),
        location=_location(facts) if recorded else None,
        verify=f"Record again with {_RECORD}: no `Python GC` inside the steps but the planned ones.",
        steps_seen=facts.steps.count_with(time),
        confidence=Confidence.HIGH if recorded and seldom is None else Confidence.LOW,
        evidence=(
            Bars(
                "pauses",
                "ns",
                tuple(Bar(f"pause {number}", end - start) for number, (start, end) in enumerate(time.pairs()[:8], 1)),
            ),
        ),
        caveats=_caveats(facts, time, seldom, recorded=recorded),
        severity_cap=Severity.HIGH if recorded and seldom is None else Severity.LOW,
        capped_because="the run without the profiler has no room for as many pauses"
        if recorded
        else "no pass of the collector was recorded",
        title=None if recorded else "Possible garbage collector pauses",
    )


def _undecided(facts: Facts, limits: Limits, silent: IntervalSet) -> Outcome | None:
    """Why silence need not be the collector's; None where nothing else explains it."""
    if facts.health.sparse_host_events is not None:
        return cannot_tell("the trace holds next to no op of the training thread (PG005): silence means nothing")
    if facts.health.thinned is not None and facts.health.thinned.mostly:
        return cannot_tell(f"{facts.health.thinned.words}: silence means nothing (PG005)")
    if silent.total_ns <= facts.time.without_core_ns:
        return cannot_tell(
            f"the thread {facts.time.core_words} of the steps, which is silence as well; record on a quiet machine"
        )
    stalled = facts.time.stalled_ops
    if stalled.as_often(silent, facts.time.waterfall.owned("python").total_ns):
        return cannot_tell(
            f"{count(stalled.count, 'op')} took {duration(stalled.stalled_ns)} longer than in other steps, and no collection runs "
            "inside one: the thread may have had no core, which is silence too; record on a quiet machine"
        )
    stalls = facts.time.stalls
    if facts.steps.ratio((silent - stalls.without_core).total_ns) < limits["min_ratio"]:
        return cannot_tell(
            f"{count(stalls.ops.count, 'op')} took {duration(stalls.ops.stalled_ns)} longer than in other steps, by 2 ms or more "
            "each, and no collection runs inside one: where that is as common the thread may have had no core, which is silence "
            "too; record on a quiet machine"
        )
    return None


def _saving(facts: Facts, time: IntervalSet, room: float | None) -> Saving:
    if room is None:
        return Saving(claims=time, basis="the pauses in the recorded steps")
    usual = time.scaled(room / facts.steps.per_step(time.total_ns))
    return Saving(
        claims=time,
        usual_claims=usual,
        basis="the pauses in the recorded steps; likely is what the run's steps have room for",
    )


def _seldom(facts: Facts, time: IntervalSet) -> str:
    """How the run's steps without the profiler leave no room for as many pauses as the recorded ones hold."""
    run, each_ns = facts.recording.run_course, facts.steps.per_step(time.total_ns)
    assert run is not None
    if facts.time.counted_in_run_ns is not None and run.collections is not None:
        held = count(run.collections.full, "pass", "passes") if run.collections.full else "no pass"
        room = f"but the run's {run.steps} steps without the profiler held {held} over all objects"
    elif each_ns > run.mean_ns:
        room = f"more than a whole step takes in the run without the profiler ({duration(run.mean_ns)}, the mean of {run.steps})"
    else:
        room = (
            f"but without the profiler the run's {run.steps} steps exceed usual ones by {duration(run.beyond_usual_ns)} at most in "
            "the mean, with all that makes some longer"
        )
    return f"Pauses are {duration(each_ns)} of each recorded step, {room}: there they come less often, and fixing them saves less."


def _caveats(facts: Facts, time: IntervalSet, seldom: str | None, *, recorded: bool) -> tuple[str, ...]:
    if not recorded:
        return ("Inferred from silence: another process may have taken the CPU.",)
    if seldom is not None:
        return (seldom,)
    once = facts.steps.count_with(time) == 1 < facts.steps.count and facts.time.counted_in_run_ns is None
    return ("Seen in one step: how often it comes the recording cannot tell.",) if once else ()


def _why(facts: Facts, time: IntervalSet, longest: int, *, recorded: bool) -> str:
    seen = facts.steps.count_with(time)
    where = f"in {seen} of {count(facts.steps.count, 'step')}"
    ratio = share(facts.steps.ratio(time.total_ns))
    total = f"{duration(time.total_ns)} in all ({ratio} of the recorded steps), the longest {duration(longest)}"
    if recorded:
        return f"Python's garbage collector stops the program {where}: {total}.{_asked(facts)}"
    return f"The whole process is silent {where}, as during a garbage collection: {total}."


def _asked(facts: Facts) -> str:
    """That the program asks for the passes itself; empty where Python begins them, or nobody knows."""
    asked = facts.recording.asked_collections
    if not asked.mostly:
        return ""
    return f" `gc.collect` asks for {asked.asked} of {count(asked.full, 'pass', 'passes')} over all objects."


def _location(facts: Facts) -> Location | None:
    """The program's own line that asks for most of them."""
    asked = facts.recording.asked_collections
    if not asked.mostly or asked.file is None:
        return None
    return Location(asked.file, asked.line, asked.function)


def _fix(facts: Facts, *, recorded: bool) -> tuple[Advice, ...]:
    if recorded and facts.recording.asked_collections.mostly:
        return (COLLECT_NOT_EACH, PASS_OVER)
    call = "output = model(batch)" if facts.model.infers else "train_step(batch)"
    control = Advice(
        "diff",
        f"+gc.collect(); gc.freeze(); gc.disable()\n for step, batch in enumerate(loader):\n     {call}\n"
        "+    if step % 50 == 0:\n+        gc.collect(1)",
        "Collect at chosen steps, on all ranks at once, and leave what exists before the loop alone.",
    )
    sure = Advice(
        "text",
        f"Record with {_RECORD} to be sure.",
        f"It marks each collection that is not a young one. By hand, with torch 2.9 and newer: {_BY_HAND}.",
    )
    return (control,) if recorded else (sure, control)


RULE = Rule(META, check, __doc__)
