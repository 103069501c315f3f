"""IN007 recorded-gradients: a model is only run, and autograd records every layer for a backward pass.

## What it finds
Steps with forward passes and no backward pass, in which autograd records: neither `torch.no_grad()` nor `torch.inference_mode()`.

## Why it costs time
For each layer autograd makes a node and keeps what its gradient needs until the result is dropped: the activations of the whole
model, where one layer's would do. The memory is what a larger batch lacks; the nodes are time on the host.

## How it is measured
An op that is recorded takes a sequence number, so that the next one carries a higher one. The rule fires where that is so of
`min_ratio` of the layers (linear, convolution, norm, attention ...) in two used steps or more, and nothing shows training. No time
is claimed: a trace does not tell what nodes take.

## Example
Slow:

```python
def validate(model, loader):
    for x, y in loader:
        correct += (model(x).argmax(1) == y).sum()
```

Faster:

```python
@torch.inference_mode()
def validate(model, loader):
    for x, y in loader:
        correct += (model(x).argmax(1) == y).sum()
```

## Fix
`torch.inference_mode()` around the pass, or `torch.no_grad()` where a result is used in training later on. `model.eval()` does
neither: it switches dropout and batch norm.

## Expected gain
The activations' memory, which may be most of what a pass takes; some percent of the time where ops are small.

## When it is wrong
A backward pass may follow after the recorded steps, where losses of many passes are added up, or gradients by the input be wanted.

## Thresholds
- `min_ratio`: share of the layers that are recorded.

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
    Finding,
    Outcome,
    Saving,
    Severity,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, share
from traces.trace import Capability

META = RuleMeta(
    code="IN007",
    name="recorded-gradients",
    family="inference",
    title="Gradients recorded that nobody takes",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold(
            "min_ratio",
            0.5,
            "ratio",
            "a part of the model may well be recorded on purpose, as an input that is optimised",
        ),
    ),
    references=("https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation",),
)
# One pass may be the first half of a step of training.
_FEWEST_STEPS = 2

_FIX = Advice(
    "diff",
    "-output = model(batch)\n+with torch.inference_mode():\n+    output = model(batch)",
    "Or `@torch.inference_mode()` above the function. `torch.no_grad()` where a result goes into training later. `model.eval()` is "
    "neither.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Tells when `min_ratio` of the layers of a model that is only run are recorded for a backward pass."""
    if not facts.model.infers:
        yield not_applicable("the model is trained here: its gradients are taken")
        return
    found = facts.kernels.recorded_layers
    if not found.layers:
        yield not_applicable("no layers of a model in the used steps")
        return
    ratio = found.recorded / found.layers
    if ratio < limits["min_ratio"]:
        yield clear(f"autograd records {share(ratio)} of the layers, below {share(limits['min_ratio'])}")
        return
    if found.steps < _FEWEST_STEPS:
        yield cannot_tell(
            "the backward pass of what autograd records may come after the recording: needs two steps, marked or found"
        )
        return
    yield Finding(
        why=f"Autograd records {found.recorded:,} of {count(found.layers, 'layer')} for a backward pass, in "
        f"{count(found.steps, facts.steps.noun)}, and the trace holds none: what gradients need is kept for nothing.",
        saving=Saving(basis="none is claimed: it is memory first, and a trace does not tell what recording takes"),
        fix=(_FIX,),
        verify="Record again: ops carry no sequence number (`Sequence number`), and the peak of memory is lower.",
        steps_seen=found.steps,
        confidence=Confidence.MEDIUM,
        severity_cap=Severity.INFO,
        evidence=(
            Bars(
                "layers in the used steps",
                "count",
                (Bar("recorded", found.recorded), Bar("not recorded", found.layers - found.recorded)),
            ),
        ),
        caveats=("A backward pass may follow after the recorded steps, or gradients by the input be wanted.",),
    )


RULE = Rule(META, check, __doc__)
