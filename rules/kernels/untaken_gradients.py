"""KE014 untaken-gradients: the backward pass computes gradients of parameters that no optimizer updates.

## What it finds
Parts of the backward pass that lead to no parameter which an optimizer updates: of a teacher without `torch.no_grad()`, of a
backbone that was to be frozen and lacks `requires_grad_(False)`. And, where optimizers take turns, parts that make gradients which
are dropped before their optimizer steps: the generator's in the discriminator's pass, or a critic's in the actor's; or the model's
in a pass that is run for the gradient of an input, as an attack on it.

## Why it costs time
An optimizer that is given some of the parameters stops no gradient: autograd goes back through all that wants one. The gradients
are added up in each step, as `zero_grad` of that optimizer does not know of them.

## How it is measured
`advisor collect` walks the graph of early passes, and tells which nodes lead to no parameter in any optimizer that steps, and
which do so with one of their two products. Those nodes are found in the trace by name and turn. Where passes differ, none are.
Where several optimizers step, or a step has several passes, it follows two steps of the loop, once each optimizer has had its
turn: a gradient that is gone or set to zero when the next pass begins, and that no optimizer took, was dropped, if the same
pass made others that were taken or leads to an input (any other pass of which none is taken was read by hand). If both steps
agree, the nodes of each pass are found by its place in the step. The metric is the first ones' time and half of the others', as
a share of the used steps: device time of their kernels, without a device the nodes' own.

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
3. `fake.detach()` for the discriminator's pass of a GAN, and `requires_grad_(False)` on the discriminator (or critic) during the
   generator's (or actor's): the gradient still passes through to what is trained there.
4. `torch.autograd.grad(loss, x)` for the gradient of an input: weights get none.
5. Where it was to be trained: give its parameters to the optimizer. That is a fault of the training, not of its speed.

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
from analyzer.facts.kernels.for_nothing import ForNothing
from analyzer.facts.recording.untrained import Untrained
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


_OF_INPUT = Advice(
    "diff",
    "-criterion(model(x), y).backward()\n-gradient = x.grad\n+(gradient,) = torch.autograd.grad(criterion(model(x), y), x)",
    "Asks for the gradient of the input alone, as for an adversarial example: those of the weights are not computed.",
)
_NOT_UPDATED = Advice(
    "diff",
    "+backbone.requires_grad_(False)  # a model that is not to be trained\n"
    "-target = teacher(batch)\n+with torch.no_grad():\n+    target = teacher(batch)",
    "The first where gradients have to pass the model, the second where none do. `model.eval()` is neither. Were the "
    "parameters to be trained, they are missing in the optimizer.",
)
_DETACHED = Advice(
    "diff",
    "-loss_d = criterion(discriminator(fake), zeros)\n+loss_d = criterion(discriminator(fake.detach()), zeros)",
    "What one optimizer's pass takes from another's model goes in detached, or is made under `torch.no_grad()`.",
)
_FROZEN = Advice(
    "diff",
    "+discriminator.requires_grad_(False)  # in the generator's pass alone\n loss_g = criterion(discriminator(fake), ones)\n"
    " loss_g.backward()\n+discriminator.requires_grad_(True)",
    "A model that a pass only runs through, as a discriminator or a critic: the gradient of its input goes on, those of its "
    "weights are left out.",
)
# Nodes that are wholly for nothing are another model's from this part of the others on; below, views of weights alone.
_ANOTHER_MODEL = 0.1


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where what leads to no parameter that is updated takes `min_ratio` of the used steps."""
    told = facts.recording.untrained
    if facts.model.infers:
        yield not_applicable("the trace shows no backward pass")
        return
    if told is None:
        yield cannot_tell(
            "which parameters an optimizer updates was not recorded: needs `advisor collect` with a script of yours, "
            "in which one steps"
        )
        return
    if not told.tensors and not told.dropped:
        yield clear("all parameters that get gradients are updated")
        return
    if not told.marks:
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
        why=f"Of the backward pass {duration(facts.steps.per_step(ns))} a step ({share(ratio)}) {_why(told)}",
        saving=_saving(facts, ns),
        fix=_fixes(told, found),
        verify="Record again: the backward pass has fewer nodes, and this finding is gone. The loss should fall as before.",
        steps_seen=facts.steps.count_with(found.whole | found.half),
        confidence=Confidence.MEDIUM,
        evidence=(_tensors(told),),
        caveats=(
            "Gradients may be read by hand, or the parameters join the optimizer later on."
            if told.tensors
            else "Gradients may be read by hand before they are dropped, as for a plot of their norm.",
        ),
    )


def _why(told: Untrained) -> str:
    if not told.passes:
        return (
            "leads to none of the parameters that an optimizer updates: "
            f"{told.tensors} of the {told.of_tensors} tensors that get gradients are in none."
        )
    if told.of_input == told.dropped:
        return (
            f"makes gradients that no optimizer takes: a pass for the gradient of an input gives some to {told.dropped} of the "
            f"{told.of_tensors} tensors as well, which are dropped (`zero_grad`) before their optimizer steps."
        )
    none = f", and {told.tensors} of the {told.of_tensors} tensors are in none" if told.tensors else ""
    return (
        "makes gradients that no optimizer takes: "
        f"{told.dropped} of the {told.of_tensors} tensors get gradients in another optimizer's pass that are dropped "
        f"(`zero_grad`) before their own steps{none}."
    )


def _fixes(told: Untrained, found: ForNothing) -> tuple[Advice, ...]:
    if not told.passes:
        return (_NOT_UPDATED,)
    whole = found.whole.total_ns > _ANOTHER_MODEL * found.half.total_ns
    return (
        *((_OF_INPUT,) if told.of_input else ()),
        *((_DETACHED,) if whole and told.of_input < told.dropped else ()),
        *((_FROZEN,) if found.half and told.of_input < told.dropped else ()),
        *((_NOT_UPDATED,) if told.tensors else ()),
    )


def _tensors(told: Untrained) -> Bars:
    if told.passes:
        bars = (Bar("dropped in some pass", told.dropped), Bar("taken in each", told.of_tensors - told.dropped))
    else:
        bars = (Bar("in no optimizer", told.tensors), Bar("updated", told.of_tensors - told.tensors))
    return Bars("tensors that get gradients", "count", bars)


def _saving(facts: Facts, ns: int) -> Saving:
    found = facts.kernels.for_nothing
    basis = (
        "the nodes that lead to no gradient which an optimizer takes, and half of those of which one product does not"
    )
    if facts.device.main is None:
        return Saving(found.whole | (found.half - found.whole).scaled(_HALF), basis=basis, kind=Figure.ESTIMATE)
    parts = ((found.whole_kernels, 1.0), (found.half_kernels, _HALF))
    return kernel_saving(facts, ns, basis, of=parts, kind=Figure.ESTIMATE)


RULE = Rule(META, check, __doc__)
