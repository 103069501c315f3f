"""KE012 strided-pointwise: pointwise ops step through memory instead of running along it.

## What it finds
Pointwise ops (additions, products, activations) of tensors of one shape that move much less than the memory could, in the kernels
that torch launches where its tensors do not lie in memory in one order without gaps: one is transposed, permuted, channels-last
or a slice, and another is not.

## Why it costs time
Neighbouring threads then touch addresses that are far apart. Each access brings a whole line of memory of which a few bytes are
used, and each thread computes where its element lies.

## How it is measured
Kernels named `elementwise_kernel<...>` or `elementwise_kernel_manual_unroll<...>` (plain tensors run in
`vectorized_elementwise_kernel`), whose ops have recorded shapes that are all the same. What they reach is the bytes of their
inputs and result over their time, against the memory's peak. Calls that the peak allows in less than 10 us do not count. The loss
is what they take beyond 80 % of the peak, which copies reach. Unit: nanoseconds.

## Example
Slow (one is channels-last, the other is not):

```python
features = backbone(images.to(memory_format=torch.channels_last))
mixed = features + prior  # prior: contiguous
```

Faster:

```python
prior = prior.to(memory_format=torch.channels_last)  # once, where it is made
mixed = features + prior
```

## Fix
1. Bring the tensors into one order where the odd one is made: `.contiguous()` once behind the `transpose`, `permute` or slice, or
   the same `memory_format` for all.
2. Let the compiler fuse: one kernel reads each tensor once.

## Expected gain
At most the time beyond 80 % of the memory's peak. A copy in front of each use takes as long as what it saves.

## When it is wrong
A tensor that another op needs in its own order has to be copied somewhere. An expanded tensor (`expand`) has the shape of the
others and less to read: it looks faster than it is. Kernels beside others take longer than alone. The threshold is reasoned, not
calibrated: no recording on a GPU has judged it.

## Thresholds
- `max_peak_ratio`: share of the memory's peak below which an op counts.
- `min_ratio`: share of the step lost to it from which the rule fires.

## References
- https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html
- https://docs.pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Column,
    Confidence,
    Finding,
    Outcome,
    Saving,
    Table,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.hardware.limits import device_peaks
from analyzer.hardware.operators import operators
from analyzer.hardware.strided import Strided, strided
from analyzer.page.words.shapes import shapes
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.changes import compiled
from rules.evidence import kernel_saving, steps_with
from traces.trace import Capability

# Copies reach some 80 to 90 % of a datasheet's figure.
_REACHED = 0.8
_SHOWN = 6

META = RuleMeta(
    code="KE012",
    name="strided-pointwise",
    family="kernels",
    title="Pointwise ops step through memory",
    needs=frozenset({Capability.DEVICE, Capability.HOST_OPS, Capability.SHAPES}),
    thresholds=(
        Threshold("max_peak_ratio", 0.5, "ratio", "good kernels reach 60 % of a datasheet's figure, copies 80 to 90 %"),
        Threshold("min_ratio", 0.03, "ratio", "below, any rule would call it low"),
    ),
    references=(
        "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
        "https://docs.pytorch.org/docs/stable/tensor_view.html",
    ),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where pointwise ops that step through memory below `max_peak_ratio` of its peak lose `min_ratio` of the step."""
    known = strided(facts)
    if not known:
        yield not_applicable("no large pointwise op of one shape, with a known peak of the memory, steps through it")
        return
    if device_peaks(facts)[0].source == "kernel-names":
        yield cannot_tell("the trace does not state the device, nor how fast its memory is")
        return
    far = [one for one in known if one.ratio < limits["max_peak_ratio"]]
    lost_ns = sum(one.operator.device_ns - one.least_ns / _REACHED for one in far)
    ratio = facts.steps.ratio(round(lost_ns))
    if ratio < limits["min_ratio"]:
        yield clear(
            f"pointwise ops that step through memory below {share(limits['max_peak_ratio'])} of its peak lose {share(ratio)} of "
            f"the step, below {share(limits['min_ratio'])}"
        )
        return
    worst = max(far, key=lambda one: one.operator.device_ns)
    yield Finding(
        why=f"{count(len(far), 'pointwise op')} of tensors of one shape run in kernels that torch takes where those do not lie in "
        f"memory in one order without gaps. The longest, `{worst.operator.op}`, moves {share(worst.ratio)} of what the memory "
        f"could. Together they take {duration(facts.steps.per_step(lost_ns))} a step ({share(ratio)}) longer than at 80 % of its "
        "peak.",
        saving=_saving(facts, far, lost_ns),
        fix=(
            Advice(
                "text",
                "Bring the tensors of these ops into one memory order where the odd one is made: `.contiguous()` once behind the "
                "`transpose`, `permute` or slice, or the same `memory_format` for all.",
                "A copy takes about as long as one of these ops: it pays where several use it, not in front of each.",
            ),
            compiled(facts, "One kernel then reads each tensor once, in whatever order it lies."),
        ),
        verify="Record again: these ops should run in `vectorized_elementwise_kernel`, nearer to the memory's peak.",
        steps_seen=steps_with(facts, operators(facts).kernels_of([one.number for one in far])),
        confidence=Confidence.MEDIUM,
        evidence=(_table(facts, far),),
        caveats=("Kernels beside others take longer than alone, whatever the order of their tensors.",),
    )


def _saving(facts: Facts, far: Sequence[Strided], lost_ns: float) -> Saving:
    mine = operators(facts).of_kernel
    return kernel_saving(
        facts,
        lost_ns,
        "what these ops take beyond 80 % of the memory's peak",
        of=[(mine == one.number, 1 - one.ratio / _REACHED) for one in far],
    )


def _table(facts: Facts, far: Sequence[Strided]) -> Table:
    return Table(
        "ops that step through memory",
        (Column("operator", "text"), Column("of the memory's peak", "ratio"), Column("time a step", "ns")),
        tuple(
            (
                f"{one.operator.op.removeprefix('aten::')} {shapes(one.operator.input_dims)}",
                one.ratio,
                facts.steps.per_step(one.operator.device_ns),
            )
            for one in far[:_SHOWN]
        ),
    )


RULE = Rule(META, check, __doc__)
