"""CP005 short-ops: ops on the CPU are so short that the way to them is what takes the time.

## What it finds
CPU-only runs that call many ops on little data: batches of a few samples, a small network, a policy that is asked for each
environment by itself.

## Why it costs time
Each op costs some microseconds before it computes anything: Python, the module around it, autograd, the dispatcher, the tensor
for its result. That is paid once an op, whether it works on one row or on a thousand; so is the update of the weights, once a
step.

## How it is measured
Paid for each op are the ways from op to op, of each stretch outside ops at most 20 us (`advisor collect` times a loop: on a slower
core it is as much longer), and the ops that take less than that without what they call; paid for each step is the update. What
the profiler adds to a step, where `advisor collect` timed steps without it, is taken off, as it adds it to ops. What IN005, OP001,
OP002, OP003, PY002, PY003, PY006 and PY007 found there is left out. The saving is half of it: with twice the samples each op is
called half as often for a sample. Where the loader is known to put one sample in a batch it is seven eighths, of eight. Unit:
nanoseconds.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=2, shuffle=True)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=32, shuffle=True)
```

## Fix
1. More samples in each call, as long as the samples per second grow and the model learns as well.
2. Environments or simulators: step several, and ask the policy once for all.
3. `torch.compile`: one compiled function for many short ops, where a C++ compiler is installed.

## Expected gain
About half of what is paid, for twice the samples. The pair `small-batches` of the zoo (8 and 16 samples, three layers of 64) is
measured with the others. Where most of the step computes, next to nothing: a transformer's layer on 1,024 tokens saved 1 %.

## When it is wrong
The batch is what the training needs, or requests come one by one. Short code of the program's own between ops counts as the way to
the next: a recording with `--stacks` tells it apart.

## Thresholds
- `min_ratio`: share of the step, without what the profiler adds, that must be paid for ops and for itself.
- `min_single_ratio`: the same where a step takes one sample.
- `min_ways`: in a step with fewer ways from op to op there are no many ops.

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
- pair `small-batches` of traces/README.md
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Figure,
    Finding,
    Location,
    Outcome,
    Saving,
    Severity,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share
from rules.changes import compiled, larger_batch
from rules.commands import collect
from rules.cpu.paid import Paid, added_ns, paid_for
from rules.python.advice import simulator, steps_simulator
from rules.python.between_ops import MOST
from traces.trace import Capability

META = RuleMeta(
    code="CP005",
    name="short-ops",
    family="cpu",
    title="Ops too short for the way to them",
    binds=("python",),
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold(
            "min_ratio", 0.5, "ratio", "where most of the step computes, twice the samples compute twice as much"
        ),
        Threshold(
            "min_single_ratio",
            0.2,
            "ratio",
            "the same of steps that are known to take one sample: they read all weights, and write their gradients, for it alone",
        ),
        Threshold("min_ways", 8, "count", "one layer, its loss, their gradients and an update are as many"),
    ),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    measured=True,
)
_TWICE = 2
# Where a step takes one sample, a small batch: of 1, 4 and 16 images a small network took 3.3, 1.9 and 1.0 ms each (two cores).
_SMALL = 8
_ASKED_OFTEN = 4
_ONCE_FOR_ALL = Advice(
    "diff",
    "-actions = [policy(torch.as_tensor(state)) for state in states]\n+actions = policy(torch.as_tensor(numpy.stack(states)))",
    "Where the model is asked for one environment at a time: step several side by side, and one call for the states of all.",
)
# Nothing says that there is a simulator: a solver reads what its next step depends on as well.
_DECIDED_FOR_ALL = Advice(
    "text",
    "Give each call of the model more samples: several states, sequences or trajectories at once.",
    "Each step asks the model and reads the answer before it asks again, as a solver does for the size of its next step, a sampler "
    "for the next token or a simulator for the next state. Samples that go through one call share what it costs.",
)


def check(facts: Facts, limits: Limits, claimed: IntervalSet) -> Iterator[Finding | Outcome]:
    """Fires where at least `min_ratio` of the step is paid for its ops and for itself, whatever they compute."""
    if facts.device.main is not None or facts.device.unrecorded:
        yield not_applicable("the device computes, not the CPU")
        return
    paid = paid_for(facts, claimed)
    if len(paid.ways) < limits["min_ways"] * facts.steps.count:
        yield clear(f"fewer than {limits['min_ways']:g} ways from op to op in a step")
        return
    # Of a step without the profiler: what it adds, it adds to ops.
    ratio = paid.left_ns / max(facts.steps.total_ns - added_ns(facts), 1)
    single = _one_sample(facts)
    least = limits["min_single_ratio" if single else "min_ratio"]
    said = f"what is paid for each op and step takes {share(ratio)} of the step"
    if ratio < least:
        yield clear(f"{said}, below {share(least)}: most of it computes")
        return
    if ratio - facts.steps.ratio(facts.time.without_core_ns) < least:
        yield cannot_tell(f"{said}, but the thread {facts.time.core_words} of it; record on a quiet machine")
        return
    way = facts.host.way_to_ops(paid.ways)
    if way is not None and way.program_ratio > MOST:
        yield clear(
            f"between the ops runs the program's own code: {share(way.program_ratio)} of it by the stacks (PY001)"
        )
        return
    yield _finding(facts, paid, ratio, stacks=way is not None, single=single)


def _one_sample(facts: Facts) -> bool:
    """Whether the loader puts one sample in a batch, of more than there are in a small one."""
    known = facts.recording.collected
    more = known.dataset_length is None or known.dataset_length >= _SMALL
    return known.batch_size == 1 and not known.whole_batches and more and not facts.input.without_loader


def _finding(facts: Facts, paid: Paid, ratio: float, *, stacks: bool, single: bool) -> Finding:
    steps, limit = facts.steps, duration(facts.time.dispatch_bound_op_ns)
    way, inside, once = (duration(steps.per_step(ns)) for ns in (paid.way_ns, paid.ops_ns, paid.update_ns))
    times, more = (_SMALL, f"{_SMALL} times") if single else (_TWICE, "twice")
    saved, added = (1 - 1 / times) * paid.own_ratio, paid.recorded_ns - paid.left_ns
    line = facts.recording.step_line
    return Finding(
        why=("Each step takes one sample. " if single else "")
        + f"{share(ratio)} of the step is paid for each op or for the step, however little is computed. Of {steps.each} {way} "
        f"are on the way from op to op, {inside} in ops that take less than {limit}, {once} in the update"
        + (f"; {duration(steps.per_step(added))} of that is the profiler's." if added else "."),
        saving=Saving(
            (paid.ways | paid.update).scaled(saved) - paid.claimed,
            kernel_ns=int(saved * paid.ops_ns),
            basis=("seven eighths" if single else "half")
            + " of what is paid for each op and step"
            + (", less what the profiler adds" if added else "")
            + f": {'eight' if single else 'twice the'} samples need as much; per sample, not per step",
            kind=Figure.ESTIMATE,
        ),
        fix=_fix(facts, single=single),
        verify=f"Compare samples per second: with {more} the samples a step should take far less than {more} as long.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step",
                "ns",
                (
                    Bar("from op to op", steps.per_step(paid.way_ns)),
                    Bar("in short ops", steps.per_step(paid.ops_ns)),
                    Bar("update", steps.per_step(paid.update_ns)),
                    Bar("rest of the step", steps.per_step(steps.total_ns - paid.recorded_ns)),
                ),
            ),
        ),
        location=None if line is None else Location(line.file, line.line, line.function, line.begins),
        caveats=(
            "Where the training needs batches of this size, or requests come one by one, there is nothing to join.",
            *(
                ()
                if stacks
                else (
                    "Short code of the program's own between ops counts as the way to the next: "
                    f"`{collect(facts, '--stacks')}` tells it apart.",
                )
            ),
        ),
        severity_cap=Severity.MEDIUM,
        capped_because="more samples in each call change the program",
    )


def _fix(facts: Facts, *, single: bool) -> tuple[Advice, ...]:
    fused = compiled(
        facts, "Short ops fused, and called without Python; needs a C++ compiler. Compare the step's time."
    )
    # Once or twice a step a loss or a metric may be read.
    if facts.sync.asked_in_turn >= _ASKED_OFTEN:
        if steps_simulator(facts):
            return (_ONCE_FOR_ALL, simulator(facts), fused)
        return (_DECIDED_FOR_ALL, _ONCE_FOR_ALL, fused)
    if single:
        larger = larger_batch(facts, _SMALL)
        note = f"{larger.note} Code that takes the one result of a step, as by `.item()`, then gets several."
        return (msgspec.structs.replace(larger, note=note), fused)
    larger = larger_batch(facts)
    # A fit of all data at once, as of a Gaussian process, draws nothing and has no batch; a loop that slices its data has one.
    if facts.input.without_loader and facts.recording.collected.batch_size is None:
        note = (
            "Where a step takes one sample, or a part of the data: sequences of several lengths are padded to one tensor "
            f"(`torch.nn.utils.rnn.pad_sequence`); a fit of all data at once has no batch. {larger.note}"
        )
        return (msgspec.structs.replace(larger, note=note), fused)
    return (larger, fused)


RULE = Rule(META, check, __doc__)
