"""KE012 slow-pointwise: pointwise ops move much less than the memory could.

## What it finds
Large pointwise ops (additions, products, activations) of tensors of one shape that reach less than half of what copies reach of
the memory's peak. Some of them step through memory: torch takes those kernels where the tensors do not lie in memory in one order
without gaps, as one is transposed, permuted, channels-last or a slice, and another is not.

## Why it costs time
Such an op is over when its bytes are moved. Where it steps, neighbouring threads touch addresses that are far apart: each access
brings a whole line of memory of which a few bytes are used, and each thread computes where its element lies.

## How it is measured
What an op reaches is the bytes of its inputs and result, by their recorded shapes, over the time of its kernels, against the
memory's peak. Kernels named `elementwise_kernel<...>` or `elementwise_kernel_manual_unroll<...>` step; plain tensors run in
`vectorized_elementwise_kernel`. Where strides were recorded (torch 2.4 and later) they tell how the inputs lie; an op with an
expanded one, which has less to read than its shape says, is left out. Calls that the peak allows in less than 10 us do not
count, nor do copies and fills. The loss is what the ops take beyond 80 % of the peak, which copies reach. Unit: nanoseconds.

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
1. Where they step: bring the tensors into one order where the odd one is made: `.contiguous()` once behind the `transpose`,
   `permute` or slice, or the same `memory_format` for all.
2. Let the compiler fuse: one kernel reads each tensor once.
3. Where they do not: time one of them alone, with the maker's profiler. The trace does not tell why it is slow.

## Expected gain
At most the time beyond 80 % of the memory's peak. A copy in front of each use takes as long as what it saves.

## When it is wrong
A tensor that another op needs in its own order has to be copied somewhere. Without strides an expanded tensor (`expand`) has
the shape of the others and less to read: it looks faster than it is. Kernels beside others take longer than alone, and so does
a card that lowers its clock or is shared. The threshold is reasoned, not calibrated: no recording on a GPU has judged it.

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
from analyzer.hardware.limits import by_kernel_names
from analyzer.hardware.operators import operators
from analyzer.hardware.pointwise import Pointwise, pointwise
from analyzer.page.words.shapes import operator
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.changes import compiled
from rules.device_words import profiler
from rules.evidence import kernel_saving, steps_with
from traces.trace import Capability

# Copies reach some 80 to 90 % of a datasheet's figure.
_REACHED = 0.8
_SHOWN = 6

META = RuleMeta(
    code="KE012",
    name="slow-pointwise",
    family="kernels",
    title="Pointwise ops far below memory speed",
    needs=frozenset({Capability.DEVICE, Capability.HOST_OPS, Capability.SHAPES}),
    thresholds=(
        Threshold("max_peak_ratio", 0.4, "ratio", "half of the 80 % of a datasheet's figure that copies reach"),
        Threshold("min_ratio", 0.03, "ratio", "below, any rule would call it low"),
    ),
    references=(
        "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
        "https://docs.pytorch.org/docs/stable/tensor_view.html",
    ),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where pointwise ops below `max_peak_ratio` of the memory's peak lose `min_ratio` of the step."""
    known = pointwise(facts)
    if not known:
        yield not_applicable("no large pointwise op of tensors of one shape, or no peak of the memory is known")
        return
    if by_kernel_names(facts):
        yield cannot_tell("the trace does not state the device, nor how fast its memory is")
        return
    far = [one for one in known if one.ratio < limits["max_peak_ratio"]]
    kinds = ([one for one in far if one.steps], [one for one in far if not one.steps])
    costly = [some for some in kinds if facts.steps.ratio(round(_lost_ns(some))) >= limits["min_ratio"]]
    if not costly:
        most = max(facts.steps.ratio(round(_lost_ns(some))) for some in kinds)
        yield clear(
            f"pointwise ops below {share(limits['max_peak_ratio'])} of the memory's peak lose {share(most)} of the step, below "
            f"{share(limits['min_ratio'])}"
        )
        return
    for some in costly:
        yield _finding(facts, some)


def _lost_ns(some: Sequence[Pointwise]) -> float:
    """What they take beyond what copies reach."""
    return sum(one.operator.device_ns - one.least_ns / _REACHED for one in some)


def _finding(facts: Facts, some: Sequence[Pointwise]) -> Finding:
    worst, lost_ns = max(some, key=lambda one: one.operator.device_ns), _lost_ns(some)
    runs, fix = (_STEPS, _fix(facts)) if worst.steps else (_ALONG, (_look(facts),))
    return Finding(
        why=f"The kernels of {count(len(some), 'pointwise op')} of tensors of one shape {runs}. The longest, "
        f"`{worst.operator.op}`, moves {share(worst.ratio)} of what the memory could. Together they take "
        f"{duration(facts.steps.per_step(lost_ns))} a step ({share(facts.steps.ratio(round(lost_ns)))}) longer than at 80 % of its "
        f"peak.{_lie(worst)}",
        saving=_saving(facts, some, lost_ns),
        fix=fix,
        verify="Record again: these ops should come nearer to the memory's peak"
        + (", and run in `vectorized_elementwise_kernel`." if worst.steps else "."),
        steps_seen=steps_with(facts, operators(facts).kernels_of([one.number for one in some])),
        confidence=Confidence.MEDIUM if worst.steps else Confidence.LOW,
        evidence=(_table(facts, some),),
        caveats=("Kernels beside others take longer than alone, whatever the order of their tensors.",),
        title="Pointwise ops step through memory" if worst.steps else None,
    )


def _lie(one: Pointwise) -> str:
    """How the inputs of an op lie, as a sentence; empty where no strides tell."""
    known = [layout for layout in dict.fromkeys(one.layouts) if layout is not None]
    if not one.steps or not known:
        return ""
    if len(known) > 1:
        return f" Its inputs lie in different orders: {' and '.join(known)}."
    if known == ["with gaps"]:
        return " Its inputs lie with gaps, as slices of larger tensors do."
    return f" All its inputs lie {known[0]}: it is where the result is written to that lies otherwise."


_STEPS = "are those that torch takes where the tensors do not lie in memory in one order without gaps"
_ALONG = "run along memory, and the trace does not tell why they are slow"


def _look(facts: Facts) -> Advice:
    return Advice(
        "text",
        f"Time one of these ops alone, with {profiler(facts)}: it says what the memory waits for.",
        "Possible are a lowered clock, another process on the card, or tensors that lie in memory column by column.",
    )


def _fix(facts: Facts) -> tuple[Advice, ...]:
    return (
        Advice(
            "text",
            "Bring the tensors of these ops into one memory order where the odd one is made: `.contiguous()` once behind the "
            "`transpose`, `permute` or slice, or the same `memory_format` for all.",
            "A copy takes about as long as one of these ops: it pays where several use it, not in front of each.",
        ),
        compiled(facts, "One kernel then reads each tensor once, in whatever order it lies."),
    )


def _saving(facts: Facts, some: Sequence[Pointwise], lost_ns: float) -> Saving:
    mine = operators(facts).of_kernel
    return kernel_saving(
        facts,
        lost_ns,
        "what these ops take beyond 80 % of the memory's peak",
        of=[(mine == one.number, 1 - one.ratio / _REACHED) for one in some],
        # Nothing tells that a slow op which runs along memory gets faster.
        usual_ns=None if some[0].steps else 0.0,
    )


def _table(facts: Facts, some: Sequence[Pointwise]) -> Table:
    return Table(
        "pointwise ops far below the memory's peak",
        (Column("operator", "text"), Column("of the memory's peak", "ratio"), Column("time a step", "ns")),
        tuple(
            (
                operator(one.operator.op, one.operator.input_dims),
                one.ratio,
                facts.steps.per_step(one.operator.device_ns),
            )
            for one in some[:_SHOWN]
        ),
    )


RULE = Rule(META, check, __doc__)
