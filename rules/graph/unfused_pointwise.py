"""GR001 unfused-pointwise: each elementwise operation reads and writes all of its data by itself.

## What it finds
Runs of elementwise, normalisation, reduction, copy and concatenation kernels that work on the same data one after the other.

## Why it costs time
Such a kernel does almost no arithmetic: its time is reading its input from memory and writing its result. The next one reads that
result again. Fused into one kernel, the data make the journey once.

## How it is measured
`|pointwise kernels| / |device busy|`, without those of the optimizer (OP rules). Of these, the chained ones count for the
bound: each directly follows, or is followed by, another one on its stream, over the same number of elements where shapes were
recorded. A run ends with its step, and its shortest kernel is left: even fused, the data make one pass. Silent where Triton
kernels or regions of `torch.compile` show that a compiler is at work.

## Example
Slow:

```python
output = model(images)
```

Faster:

```python
model = torch.compile(model)
output = model(images)
```

## Fix
1. `model = torch.compile(model)` before the loop; let the warm-up steps pay for compiling.
2. Fused building blocks: `F.scaled_dot_product_attention`, `F.layer_norm`, fused cross-entropy.

## Expected gain
Half of the chained kernels' time: other tools assume 15 to 45 %, and the bytes that fusing saves would allow more. The longest
kernel of each run is never counted as saved, since it may be long for another reason than its data. The result is multiplied by
the share of the step in which the device is busy. Nothing is claimed where the run is launch-bound, although fewer launches help
there too (ID001, GR004).

## When it is wrong
Inputs whose shape changes all the time make the compiler run again and again (GR003). Code with many graph breaks gains little
(GR002). Where nothing tells steps apart and one and the same kernel is all that the device runs, a single op may be measured again
and again: the rule cannot tell.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.

## References
- TraceLens, kernel fusion; PyTorch tuning guide, "fuse operations"
- https://docs.pytorch.org/tutorials/intermediate/torch_compile_tutorial.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.kernels.find import Kernels
from analyzer.finding import Bar, Bars, Confidence, Finding, Outcome, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.changes import compiled, older_than
from rules.evidence import kernel_saving, kernel_table, steps_with
from traces.trace import Capability

# What fusing a chain usually leaves of its time (rules.md GR001); of a long one it leaves less.
_GAIN_RATIO = 0.5
# What a single op that is measured leaves to anything else.
_ALONE_RATIO = 0.95
_LABELS = {
    "elementwise": "elementwise",
    "norm": "normalisation",
    "copy": "copies and casts",
    "reduce": "reductions",
    "softmax": "softmax",
    "cat": "concatenation",
}

META = RuleMeta(
    code="GR001",
    name="unfused-pointwise",
    family="graph",
    title="Pointwise work not fused",
    needs=frozenset({Capability.DEVICE}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold(
            "min_busy_ratio", 0.20, "ratio", "measured: 4.6-15 % where convolutions and products dominate, up to 54.6 %"
        ),
    ),
    references=("https://docs.pytorch.org/tutorials/intermediate/torch_compile_tutorial.html",),
    outside=("compile",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when pointwise kernels own `min_busy_ratio` of the busy time and nothing fuses them."""
    found, kernels = facts.kernels.fusion, facts.kernels.named
    outcome = _unanswerable(kernels)
    if outcome is not None:
        yield outcome
        return
    ratio = kernels.busy_ratio(found.pointwise)
    if found.compiled:
        yield clear(
            f"a compiler already fuses here; what is left of pointwise kernels is {share(ratio)} of the busy time"
        )
        return
    if ratio < limits["min_busy_ratio"]:
        yield clear(f"pointwise kernels are {share(ratio)} of the busy time, below {share(limits['min_busy_ratio'])}")
        return
    chained = kernels.busy_ratio(found.chained)
    if not chained:
        yield clear(
            f"pointwise kernels are {share(ratio)} of the busy time, but none of them follows another in its step"
        )
        return
    if older_than(facts, (2, 0)) and 2 * kernels.busy_ratio(found.chained & kernels.is_family("norm")) > chained:
        yield clear(
            f"runs of pointwise kernels are {share(chained)} of the busy time, but most of that is normalisation, which scripting, "
            "all that this torch has, mostly leaves as it is"
        )
        return
    if facts.steps.source == "whole-trace" and _one_kernel(kernels):
        yield cannot_tell(
            "one and the same kernel is all that the device runs, and nothing tells steps apart: an op that is measured again and "
            "again makes no chain"
        )
        return
    yield Finding(
        why=f"{share(ratio)} of the GPU's busy time is pointwise kernels; runs of them"
        + (" over the same data" if found.shapes_known else "")
        + f" take {share(chained)}, the longest of {found.longest_chain} kernels.",
        saving=kernel_saving(
            facts,
            kernels.time_ns(found.passing),
            "the time of pointwise kernels that directly follow one another, save the shortest of each run, for one pass over the "
            "data stays; half of their time usually goes, and no more than all but the longest of each run",
            of=((found.passing, 1.0),),
            usual_ns=min(_GAIN_RATIO * kernels.time_ns(found.chained), kernels.time_ns(found.shorter)),
        ),
        fix=(compiled(facts, _NOTE),),
        verify="Record again after the warm-up: fewer kernels a step"
        + (
            ", with names as `fused_add_relu`."
            if older_than(facts, (2, 0))
            else ", and names such as `triton_poi_fused_...`."
        ),
        steps_seen=steps_with(facts, found.pointwise),
        confidence=Confidence.MEDIUM if found.shapes_known else Confidence.LOW,
        evidence=(_bars(facts), kernel_table(facts, found.chained, "longest kernels in runs")),
        caveats=()
        if found.shapes_known
        else ("Without shapes only the order of kernels is known, not that they share data.",),
    )


_NOTE = "Compiles in the first steps: keep those out of the recording. Sizes that change: dynamic=True."


def _unanswerable(kernels: Kernels) -> Outcome | None:
    """Why nothing can be said of pointwise kernels; None where it can."""
    if not len(kernels.frame):
        return not_applicable("no kernel in the used steps")
    if kernels.is_family("other").all():
        return cannot_tell("the names of this device's kernels do not say what they compute")
    return None


def _one_kernel(kernels: Kernels) -> bool:
    """Whether hardly anything runs but one kernel, as where a single op is measured; a model has others beside it."""
    ((_, _, longest_ns),) = kernels.longest(kernels.every, limit=1)
    return longest_ns >= _ALONE_RATIO * int(kernels.frame["dur_ns"].sum())


def _bars(facts: Facts) -> Bars:
    kernels, pointwise = facts.kernels.named, facts.kernels.fusion.pointwise
    parts = [
        (label, facts.steps.per_step(kernels.time_ns(pointwise & kernels.is_family(family))))
        for family, label in _LABELS.items()
    ]
    return Bars("pointwise kernels, mean step", "ns", tuple(Bar(label, value) for label, value in parts if value))


RULE = Rule(META, check, __doc__)
