"""KE014 untaken-gradients: the backward pass computes gradients of parameters that no optimizer updates.

## What it finds
Parts of the backward pass that lead to no parameter which an optimizer updates: of a teacher without `torch.no_grad()`, of a
backbone that was to be frozen and lacks `requires_grad_(False)`.

## Why it costs time
An optimizer that is given some of the parameters stops no gradient: autograd goes back through all that wants one. The gradients
are added up in each step, as `zero_grad` of that optimizer does not know of them.

## How it is measured
`advisor collect` walks the graph of early passes, and tells which nodes lead to no parameter in any optimizer that steps, and which
do so with one of their two products. Those nodes are found in the trace by name and turn. Where passes differ, none are. The metric
is the first ones' time and half of the others', as a share of the used steps: device time of their kernels, without a device the
nodes' own.

## Example
Slow:

```python
optimizer = torch.optim.Adam(head.parameters())
for x, y in loader:
    loss = criterion(head(backbone(x)), y)
```

Faster:

```python
backbone.requires_grad_(False)
optimizer = torch.optim.Adam(head.parameters())
for x, y in loader:
    loss = criterion(head(backbone(x)), y)
```

## Fix
1. `requires_grad_(False)` on a model that is not to be trained.
2. `torch.no_grad()` around a pass whose result no gradient has to pass, as a teacher's.
3. Where it was to be trained: give its parameters to the optimizer. That is a fault of the training, not of its speed.

## Expected gain
The time of the nodes. Recording the forward pass goes as well where nothing in it wants a gradient, which is not counted.

## When it is wrong
Gradients that are read by hand, as for a penalty, a saliency map, or an update without an optimizer. Parameters that join the
optimizer later on, as layers that are thawed one by one.

## Thresholds
- `min_ratio`: share of the step from which it fires.

## References
- https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Figure,
    Finding,
    Outcome,
    Saving,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.evidence import kernel_saving
from traces.trace import Capability

META = RuleMeta(
    code="KE014",
    name="untaken-gradients",
    family="kernels",
    title="Gradients that no optimizer takes",
    needs=frozenset({Capability.HOST_OPS}),
    topics=frozenset({"untaken_gradients"}),
    thresholds=(Threshold("min_ratio", 0.02, "ratio", "below 2 % of the step a finding goes on no card"),),
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation",),
)
# Of a node with two products one.
_HALF = 0.5


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where what leads to no parameter that is updated takes `min_ratio` of the used steps."""
    told = facts.recording.untrained
    if facts.model.infers:
        yield not_applicable("the trace shows no backward pass")
        return
    if told is None:
        yield cannot_tell(
            "which parameters an optimizer updates was not recorded: needs `advisor collect` with a script of yours"
        )
        return
    if not told.tensors:
        yield clear("all parameters that get gradients are updated")
        return
    if not told.nodes:
        yield cannot_tell(
            "which part of the backward pass is for nothing was not recorded, or differs from pass to pass"
        )
        return
    found = facts.kernels.for_nothing
    ns = found.whole.total_ns + int(_HALF * found.half.total_ns)
    ratio = facts.steps.ratio(ns)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"what leads to no parameter that is updated takes {share(ratio)} of the step, below {share(limits['min_ratio'])}"
        )
        return
    yield Finding(
        why=f"Of the backward pass {duration(facts.steps.per_step(ns))} a step ({share(ratio)}) leads to none of the parameters "
        f"that an optimizer updates: {told.tensors} of the {told.of_tensors} tensors that get gradients are in none.",
        saving=_saving(facts, ns),
        fix=(
            Advice(
                "diff",
                "+backbone.requires_grad_(False)  # a model that is not to be trained\n"
                "-target = teacher(batch)\n+with torch.no_grad():\n+    target = teacher(batch)",
                "The first where gradients have to pass the model, the second where none do. `model.eval()` is neither. Were the "
                "parameters to be trained, they are missing in the optimizer.",
            ),
        ),
        verify="Record again: the backward pass has fewer nodes, and this finding is gone. The loss should fall as before.",
        steps_seen=facts.steps.count_with(found.whole | found.half),
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "tensors that get gradients",
                "count",
                (Bar("in no optimizer", told.tensors), Bar("updated", told.of_tensors - told.tensors)),
            ),
        ),
        caveats=("Gradients may be read by hand, or the parameters join the optimizer later on.",),
    )


def _saving(facts: Facts, ns: int) -> Saving:
    found = facts.kernels.for_nothing
    basis = "the nodes that lead to no parameter which is updated, and half of those of which one product does not"
    if facts.device.main is None:
        return Saving(found.whole | (found.half - found.whole).scaled(_HALF), basis=basis, kind=Figure.ESTIMATE)
    parts = ((found.whole_kernels, 1.0), (found.half_kernels, _HALF))
    return kernel_saving(facts, ns, basis, of=parts, kind=Figure.ESTIMATE)


RULE = Rule(META, check, __doc__)
