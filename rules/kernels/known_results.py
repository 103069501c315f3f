"""KE015 known-results: a module computes again what is known already.

## What it finds
Calls of a module with the very tensors of an earlier call, nobody having written to them or to the module's weights since: within
a step (`model(x)` once for the loss and once for the accuracy; a projection of the encoder's output in every turn of a decoder), or
in each step (features of a style image that stays the same). And a module that is not trained and draws no random numbers, which
gives the same for a sample in each epoch: a frozen backbone, a teacher.

## Why it costs time
The forward pass is paid again, and where a gradient goes through it the backward pass too.

## How it is measured
`advisor collect` looks at the calls of all modules in three steps before the recording: in the first for calls with the same
arguments, in two more it compares their results, and weights where a result is of an earlier step. In the recorded steps it puts a
range around such calls. The metric is these ranges and the nodes of the backward pass that their ops leave, as a share of the used
steps: device time of their kernels, without a device their own. Of what is the same in each epoch the first pass is left over, and
it is only taken where the samples come out the same each time.

## Example
Slow:

```python
for x, y in loader:
    loss = criterion(model(x), y)
    correct += (model(x).argmax(1) == y).sum()
```

Faster:

```python
for x, y in loader:
    output = model(x)
    loss = criterion(output, y)
    correct += (output.detach().argmax(1) == y).sum()
```

## Fix
1. One call, and its result used twice; in front of a loop what each turn computes alike.
2. In front of the training loop what no step changes.
3. A pass over the data set in advance, and training on what it gave, where a frozen model is the first to see the samples.

## Expected gain
The time of the calls and of their backward pass, less one pass over the data for what is the same in each epoch.

## When it is wrong
A module may do something beside its result, as batch normalisation in training, which counts each call. A model that is not trained
now may be later on, as layers that are thawed one by one, or be brought up to date every few hundred steps, as a target network.

## Thresholds
- `min_ratio`: share of the step from which it fires.

## References
- https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from analyzer.facts import Facts
from analyzer.facts.kernels.computed_again import ComputedAgain
from analyzer.facts.recording.known_results import KnownResult
from analyzer.finding import (
    Bar,
    Bars,
    Confidence,
    Figure,
    Finding,
    Location,
    Outcome,
    Saving,
    cannot_tell,
    clear,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share
from rules.data_loading.kept import made_once_already
from rules.evidence import kernel_saving
from rules.kernels.known_fixes import fixes
from traces.reader.names.again import IN_EACH_EPOCH, IN_EACH_STEP, IN_STEP
from traces.trace import Capability

META = RuleMeta(
    code="KE015",
    name="known-results",
    family="kernels",
    title="Results computed again",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(Threshold("min_ratio", 0.02, "ratio", "below 2 % of the step a finding goes on no card"),),
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation",),
)
_WHY = {
    IN_STEP: "with the very tensors of an earlier call in it",
    IN_EACH_STEP: "with the same tensors as in the step before, and nothing in it is trained",
    IN_EACH_EPOCH: "is not trained and draws no random numbers: for a sample it gives the same in each epoch",
}


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where calls whose result is known take `min_ratio` of the used steps."""
    told = facts.recording.known_results
    if told is None:
        yield cannot_tell(
            "which calls of modules compute what is known was not recorded: needs `advisor collect` with a script of yours "
            "that runs ten steps or more before it is recorded, and compiles nothing (torch 2.1)"
        )
        return
    found = sorted(_parts(facts), key=lambda one: -one.ns)
    ns = sum(one.ns for one in found)
    ratio = facts.steps.ratio(ns)
    unmarked = [one for one in told if not one.marked]
    if ratio < limits["min_ratio"] and unmarked:
        yield cannot_tell(
            f"{_what(unmarked[0])}: calls so short and many were not marked, so that nobody knows what they take"
        )
        return
    if ratio < limits["min_ratio"]:
        yield clear(_clear(facts, ratio, limits["min_ratio"]))
        return
    first = found[0].of.told
    yield Finding(
        why=_why(facts, found, ratio),
        saving=_saving(facts, found, ns),
        fix=fixes(facts, [one.of.told for one in found]),
        verify="Record again: the calls are fewer, and this finding is gone. What the program computes should be the same.",
        steps_seen=facts.steps.count_with(IntervalSet.union([one.of.spans for one in found])),
        confidence=Confidence.MEDIUM if first.scope == IN_EACH_EPOCH else Confidence.HIGH,
        evidence=(_bars(facts, found, ns),),
        caveats=_caveats(facts, found),
        location=None if first.file is None else Location(first.file, first.line, first.function),
    )


class _Part(msgspec.Struct, frozen=True, eq=False):
    """Calls of one module that could go, the share of them that does, and the time of that share in the used steps."""

    of: ComputedAgain
    left_ratio: float
    ns: int


def _parts(facts: Facts) -> Iterator[_Part]:
    for one in facts.kernels.computed_again:
        if _counts(facts, one):
            left, spans = _left_ratio(facts, one), one.spans
            if facts.device.main is not None:
                spans = facts.kernels.named.spans(one.kernels)
            yield _Part(one, left, int(left * spans.total_ns))


def _counts(facts: Facts, one: ComputedAgain) -> bool:
    """Whether the result is known to be the same: of samples, they have to come out the same, and more than once."""
    if one.told.scope != IN_EACH_EPOCH:
        return True
    return facts.recording.collected.random_samples is False and not made_once_already(facts)


def _left_ratio(facts: Facts, one: ComputedAgain) -> float:
    """Share of the calls that computes what was computed before."""
    passes = facts.recording.data_passes
    return 1.0 if one.told.scope != IN_EACH_EPOCH or passes is None else 1 - 1 / passes


def _what(told: KnownResult) -> str:
    """Which module it is, how often it is called, and why its result is known."""
    often = "once" if told.calls == 1 else f"{told.calls:,} times"
    called = "" if told.scope == IN_EACH_EPOCH else f"is called {often} a step "
    return f"`{told.module}` {called}{_WHY[told.scope]}"


def _why(facts: Facts, found: list[_Part], ratio: float) -> str:
    said = (f"{_what(one.of.told)} ({duration(facts.steps.per_step(one.ns))})" for one in found)
    return f"{share(ratio)} of the step computes what is known already. " + "; ".join(said) + "."


def _clear(facts: Facts, ratio: float, limit: float) -> str:
    left_out = [one for one in facts.kernels.computed_again if not _counts(facts, one)]
    if left_out:
        module = left_out[0].told.module
        once = facts.recording.collected.random_samples is False
        reason = "the run passes through its data once" if once else "samples may come out different in each epoch"
        return f"`{module}` is not trained, but {reason}: what it computes is not known before"
    return f"calls of modules whose result is known take {share(ratio)} of the step, below {share(limit)}"


def _saving(facts: Facts, found: list[_Part], ns: int) -> Saving:
    basis = "these calls and their backward pass, if none of them is made"
    if any(one.of.told.scope == IN_EACH_EPOCH for one in found):
        basis += "; of what is the same in each epoch the first pass is left over, as far as the run's passes are known"
    if facts.device.main is None:
        claims = IntervalSet.union([one.of.spans.scaled(one.left_ratio) for one in found])
        return Saving(claims, basis=basis, kind=Figure.ESTIMATE)
    parts = [(one.of.kernels, one.left_ratio) for one in found]
    return kernel_saving(facts, ns, basis, of=parts, kind=Figure.ESTIMATE)


def _bars(facts: Facts, found: list[_Part], ns: int) -> Bars:
    known = [Bar(one.of.told.module, facts.steps.per_step(one.ns)) for one in found]
    return Bars(
        "mean step", "ns", (*known, Bar("rest of the step", facts.steps.per_step(facts.steps.window.total_ns - ns)))
    )


def _caveats(facts: Facts, found: list[_Part]) -> tuple[str, ...]:
    scopes = {one.of.told.scope for one in found}
    caveats = []
    if IN_EACH_EPOCH in scopes:
        caveats.append("Where the model is trained later on, or brought up to date, what was kept is no longer true.")
        if facts.recording.data_passes is None:
            caveats.append(
                "How often the run passes through its data is not known: the first time is computed all the same."
            )
    if IN_STEP in scopes and facts.recording.trains:
        caveats.append("A call may do more than give a result, as batch normalisation in training counts each batch.")
    return tuple(caveats)


RULE = Rule(META, check, __doc__)
