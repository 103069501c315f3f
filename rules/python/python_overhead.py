"""PY001 python-overhead: the device idles while the host runs code outside any op.

## What it finds
Time in which the device does nothing and the training thread is in no op, no launch and no loader: plain Python, NumPy, PIL,
logging, a data pipeline without a DataLoader.

## Why it costs time
PyTorch runs ahead only while it is being called. Whatever else the program does between two calls has to fit behind the work
already queued; the rest is idle time.

## How it is measured
`|idle and no event on the issuing and the main thread| / |used steps|` (the cause `python` of the waterfall); on a thread of the
backward pass the way from one op to the next, up to 100 us, is autograd's own and does not count. What more specific rules claim
where they fire is taken out: pauses (PY004, ID003, ID005), loops (PY002, PY003, PY006), copies of weights (PY007), autotuners
(KE011), DDP's search for unused parameters (CO006), DataParallel (CO004). On a CPU-only trace: time of the step's thread outside
ops, in stretches long enough to be more than the way from one op to the next. That way is longer on a slow or busy core: `advisor
collect` times an empty loop beside the recording, and the limit is `min_stretch_ns` times as long as the loop took against a quiet
machine (17.5 ns a turn). Before the loader, the backward pass and the optimizer, where torch runs Python of its own, and where
`profiler.step()` ends a step, it is `entry_times` as long. Unit: nanoseconds, shown as a share of the step.

## Example
Slow:

```python
for path, target in samples:
    image = torch.from_numpy(np.asarray(Image.open(path)))
    train_step(image, target)
```

Faster:

```python
for image, target in DataLoader(ImageDataset(samples), batch_size=64, num_workers=4):
    train_step(image, target)
```

## Fix
1. Where stacks tell which function it is and what it calls: move it out of the loop, vectorise it, or do it in the loader's
   workers. A list of arrays that is made a tensor: one array first. Where DDP lists buffers: `broadcast_buffers=False`.
2. Where they do not, the ops before and after the time narrow it down; record one or two steps with `with_stack=True` to learn the
   line, and believe the plain trace for how much.
3. Where a framework runs the loop, and looks at its steps find it saving, logging or evaluating: do that less often.
4. Where the state of the model was taken before, or the line saves: write it less often, or beside training.
5. Where the host was blocked before in a copy of values that the code looks at: look at them one step late. Where it was in reading
   sizes of results between layers: take these reads away.
6. Where objects are sent between ranks (`all_gather_object`): tensors of a known size, less often.
7. Environments and simulators: several at once, one call of the policy for all of them.

## Expected gain
At most the idle time outside ops, and of the idle time after such code as much as it took while the device was busy.

## When it is wrong
Stacks make every Python call slower: with them the share is too high. A C++ extension or another thread that holds the
interpreter's lock leaves no event and looks like Python, and so do ops that were not recorded: where a fifth of the kernels is
launched outside any op, confidence is low. So does time in which other programs had the core: where `advisor collect` saw that,
or ops stand still as often as what lies between them, what is left must reach the threshold; so must it without the silent end
of the only step of a recording, which may end in the middle of it. A framework that runs the loop (Lightning, a Trainer) works
between the ops itself: where no line is named confidence is low. A server that waits for requests looks the same. A program on
a device that was not recorded shows its waits here. Where at most a third of the steps hold three quarters of the time, the
finding names those steps: a few steps do not show how often that happens. Where it is all in one step, severity is low.

## Thresholds
- `min_ratio`: share of the used steps from which the rule fires.
- `min_stretch_ns`: on a CPU-only trace, shorter stretches between ops are not counted; longer where the collector's loop was slow.
- `entry_times`: how many times as long a stretch must be that ends in a range of torch's own.
- `slow_core_times`: without that loop, the finding must hold with a limit as many times as long.
- `max_events_per_ms`: Python events a millisecond from which the time of a trace with stacks is mostly the profiler's.

## References
- XProf, Python execution overhead 3 and 15 %; TraceML, residual 10 and 20 %
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.recording.line_samples import SampledLine
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, Severity, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, share
from rules import adapters
from rules.place import location
from rules.python import (
    after_reads,
    called,
    caveats,
    checkpoints,
    in_framework,
    known_places,
    objects_sent,
    prepared,
    sampled,
    seldom,
    short_stretches,
    unplaced,
    whose_time,
)
from rules.python.advice import (
    CLIPPED_IN_PARTS,
    PROCESSES,
    in_engine,
    look,
)
from rules.python.between_ops import WORTH_A_PLACE, between, clips, in_update
from rules.python.outside_ops import evidence_of
from rules.python.stretches import (
    caveats_of_the_core,
    counted,
    doubtful,
    outside_ops,
    slower_than_quiet,
    uncounted_ns,
)
from traces.trace import Capability

META = RuleMeta(
    code="PY001",
    name="python-overhead",
    family="python",
    title="Host code outside any op",
    binds=("python",),
    measures=("python",),
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "between XProf's 3 % and TraceML's 10 %"),
        Threshold(
            "min_stretch_ns",
            100_000,
            "ns",
            "in this project's CPU samples nine in ten gaps between ops are below 60 us: interpreter and profiler",
        ),
        Threshold(
            "entry_times",
            3,
            "count",
            "in recordings of healthy loops on quiet cores half of the ways into the optimizer and the loader take 100 to 120 us, "
            "one in a hundred 230; from op to op half take 20, one in a hundred 70",
        ),
        Threshold(
            "slow_core_times",
            3,
            "count",
            "cores in use differ in speed about threefold; where none was timed, what a core this slow explains is not told",
        ),
        Threshold("max_events_per_ms", 20, "count", "rules.md PG004: with more, stacks distort the step"),
    ),
    explains=("ID002",),
    references=("https://github.com/openxla/xprof",),
    measured=True,
)
# Short stretches that are together as much as a run is bound by: then they are the question, whatever each of them is.
_MANY_SHORT = 0.2


def check(facts: Facts, limits: Limits, claimed: IntervalSet) -> Iterator[Finding | Outcome]:
    """Fires when host code outside ops owns at least `min_ratio` of the used steps."""
    time = counted(facts, limits, claimed)
    ratio, slow = facts.steps.ratio(time.total_ns), slower_than_quiet(facts, limits)
    if ratio < limits["min_ratio"]:
        short = uncounted_ns(facts, time, claimed)
        if (
            facts.steps.ratio(short) >= _MANY_SHORT
            and facts.steps.ratio(short - facts.time.without_core_ns) >= _MANY_SHORT
        ):
            said = short_stretches.outcome(facts, time, limits, claimed)
            if said is not None:
                yield said
                return
            everything = outside_ops(facts, claimed)
            yield _finding(facts, everything, facts.steps.ratio(everything.total_ns), limits)
            return
        yield clear(
            f"host code outside any op owns {share(ratio)} of the step, below {share(limits['min_ratio'])}"
            f"{short_stretches.words(facts, time, claimed, limits['min_ratio'])}{'; ' if slow else ''}{slow}"
        )
        return
    if facts.health.sparse_host_events is not None:
        yield cannot_tell(
            f"the training thread has {count(facts.health.sparse_host_events, 'op or call', 'ops and calls')} in the used steps: "
            "the trace was filtered or cut, or other threads do the work. Needs CPU activity recorded whole"
        )
        return
    doubt = doubtful(facts, limits, claimed, time)
    if doubt is not None:
        yield cannot_tell(f"host code outside any op owns {share(ratio)} of the step, {doubt}")
        return
    if facts.steps.ratio(time.total_ns - facts.time.without_core_ns) < limits["min_ratio"]:
        yield cannot_tell(
            f"host code outside any op owns {share(ratio)} of the step, but the thread {facts.time.core_words} of it"
            f"{between(facts, time)}; record on a quiet machine, with stacks to see which line it is"
        )
        return
    if facts.device.unrecorded:
        yield cannot_tell(
            f"host code outside any op owns {share(ratio)} of the step, but ops ran on a device that was not recorded: it may be "
            "waiting for it. Needs the device's work beside the CPU's (PG005)"
        )
        return
    thinned = facts.health.thinned
    if thinned is not None and thinned.mostly:
        yield cannot_tell(
            f"host code outside any op owns {share(ratio)} of the step, but {thinned.words}: it may be theirs (PG005)"
        )
        return
    yield _finding(facts, time, ratio, limits)


def _finding(facts: Facts, time: IntervalSet, ratio: float, limits: Limits) -> Finding:
    main = facts.host.main_thread
    places = facts.host.stacks.inside(main, time) if main is not None else []
    most = bool(places) and places[0][1] >= WORTH_A_PLACE * time.total_ns
    top = whose_time.shown(facts, time, *places[0]) if most else None
    named = whose_time.named(facts, time, top) if top else called.of_library(facts, time)
    line = None if top else sampled.sampled_line(facts, time, ratio)
    before = checkpoints.sentence(facts, time)
    inside = "" if top or line else in_framework.sentence(facts, ratio)
    where = sampled.sentence(facts, line) if line is not None else named or inside or between(facts, time)
    of_framework = not (top or line or inside) and in_framework.unnamed(facts)
    inflated, few = caveats.inflated(facts, time, limits["max_events_per_ms"]), seldom.steps_of(facts, time)
    spends = "The step spends" if few is None else "The steps spend"
    who = "The GPU idles" if facts.device.main is not None else spends
    return Finding(
        why=(
            f"{who} {seldom.words(facts, time)} in host code outside any PyTorch op{where}.{before}{adapters.sentence(facts, time)}"
            f"{prepared.sentence(facts, time)}{after_reads.sentence(facts, time)}{objects_sent.sentence(facts, time)}"
        ),
        saving=Saving(
            claims=time,
            behind=facts.sync.behind(facts.host.silent)
            | prepared.goes_with(facts, time)
            | after_reads.goes_with(facts, time),
            basis="idle time in which no op, launch or loader runs on the threads that issue work"
            + ("" if few is None else seldom.BASIS),
        ),
        fix=(in_framework.remedies(facts, ratio) if inside else ())
        or _fix(facts, time, line, top, whose_time.moved(facts, top, line, ratio)),
        verify="Record again without stacks: the share of PY001 should fall below 5 %.",
        steps_seen=facts.steps.count_with(time) if few is None else few,
        confidence=Confidence.LOW
        if of_framework
        else seldom.at_most(facts, time, caveats.confidence(facts, named=top is not None, inflated=inflated)),
        evidence=evidence_of(facts, time, places),
        location=location(top.function) if top else sampled.location(line) if line is not None else None,
        caveats=(
            *((in_framework.caveat(facts),) if of_framework else ()),
            *(() if few is None else (seldom.CAVEAT,)),
            *caveats.of(facts, time, inflated=inflated),
            *caveats_of_the_core(facts, limits, time),
        ),
        severity_cap=Severity.LOW if few == 1 else Severity.MEDIUM if inflated else Severity.HIGH,
        capped_because=seldom.ONE if few == 1 else "recording stacks slows Python down",
    )


def _fix(
    facts: Facts, time: IntervalSet, line: SampledLine | None, top: whose_time.Shown | None, moved: Advice | None
) -> tuple[Advice, ...]:
    known = known_places.remedies(facts, time)
    if known:
        return known
    if facts.recording.serving_engine is not None:
        return in_engine(facts, time, moved if moved is not None else called.by_library(facts, time))
    if caveats.shares_interpreter(facts):
        return (PROCESSES, moved if moved is not None else look(facts))
    if moved is None and in_update(facts, time):
        return (CLIPPED_IN_PARTS, look(facts)) if clips(facts, time) else (look(facts),)
    saved = checkpoints.remedies(facts, time, line)
    if saved:
        return (*saved, moved if moved is not None else look(facts))
    late = after_reads.one_step_late(facts, time)
    # What writes prepares no data: a loader's workers have no part in it.
    less = seldom.less_often(facts, time)
    own = moved is not None and not (top and top.starts)
    moving = less if sampled.writing(facts, time, line) else (*less, *prepared.moving(facts, time, own=own))
    if moved is not None:
        return (*called.remedy(facts, time), moved, *(() if in_update(facts, time) else (*late, *moving)))
    return unplaced.remedies(facts, time, late, moving)


RULE = Rule(META, check, __doc__)
