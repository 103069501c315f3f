"""KE005 far-from-roofline: matrix products and attention that take far longer than the device needs for them.

## What it finds
Matrix products, convolutions and attention that take more than two and a half times as long as their operations and bytes need at
the device's peaks, with the reason where their shapes tell it: misaligned or skinny operands, too few tiles for the device, a last
round of tiles that is partly empty, a head dimension that is padded, one channel in each group, a dilation; or a kernel of MIOpen's
last resort.

## Why it costs time
The units that multiply wait, for memory or for one another, or multiply padding. Such a kernel looks as busy as a good one.

## How it is measured
Operations and bytes by recorded shapes and types, as `torch.utils.flop_counter` counts them; the least time is the longer of both
at the peaks of the device (the maker's dense figures, else what `--calibrate` of `advisor collect` measured; where the trace
describes no device, those of the fastest one that its kernels, by their names, were built for: `_ISA942_`). Measured as
`sum(time above the least time) / |step|` over operators that reach less than `max_peak_ratio`.

## Example
Slow:

```python
scores = features @ torch.randn(4096, 3)  # three columns: most of each tile is empty
```

Faster:

```python
scores = features @ torch.randn(4096, 192)  # 64 such products in one
```

## Fix
1. Misaligned: round sizes up to a multiple of 8, better 64.
2. Skinny or small: make one product of several (concatenate weights, a larger batch, grouped or batched products).
3. A last round partly empty: sizes whose tiles fill whole rounds, or a larger batch.
4. Head dimension: 64 or 128.
5. A naive kernel of MIOpen's: another layout, number format or size, or its search.
6. No reason: look at the kernel with the maker's profiler.

## Expected gain
At most the time above the roofline. It is likely only for misaligned sizes: the same work fits aligned ones, and libraries reach
some 60 to 80 % of a datasheet's peak (70 % is assumed), but no more than a third of their time: a factor of 1.5 is usual (PR003),
and what a product lacks beyond that has another cause. A small, skinny or short product takes as long for the same work. More
work in each call brings more samples a second but no shorter step, so none of that is called likely. On a CPU-only trace the
figure is the likely saving: the time above the roofline is no upper bound there, because joining several calls also saves the
time between them. Where no saving is likely there, none is stated, and the finding says so.

## When it is wrong
A datasheet's peak holds at full clock. The part of attention that a recorded causal mask skips is not counted as work, but an
operator is reported only if it would also be far from its roofline with that part counted; with any other mask all of the
attention counts as work. Kernels that run at the same time as others take longer than alone. On a CPU-only trace the time in
which the thread had no core is subtracted first. Where the model needs a layer of this shape, only a larger batch helps.

## Thresholds
- `max_peak_ratio`: share of its peak below which an operator counts.
- `min_ratio`: share of the step above the roofline from which the rule fires.

## References
- https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
- Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Column,
    Confidence,
    Figure,
    Finding,
    Outcome,
    Saving,
    Severity,
    Table,
    cannot_tell,
    clear,
)
from analyzer.hardware.limits import by_kernel_names
from analyzer.hardware.operators import operators
from analyzer.hardware.shortfall import Shortfall, shortfalls
from analyzer.page.words.shapes import operator
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.device_words import profiler
from rules.evidence import PADDED_RATIO, kernel_saving, steps_with
from traces.trace import Capability

# What libraries reach of a datasheet's figure on large products is 60 to 80 % (NVIDIA's guide above, figures 2 and 3).
_USUAL_RATIO = 0.7
_SHOWN = 8

META = RuleMeta(
    code="KE005",
    name="far-from-roofline",
    family="kernels",
    title="Products far below their roofline",
    needs=frozenset({Capability.HOST_OPS, Capability.SHAPES}),
    thresholds=(
        Threshold(
            "max_peak_ratio", 0.4, "ratio", "half of what libraries reach of a datasheet's figure on large products"
        ),
        Threshold("min_ratio", 0.05, "ratio", "below, any rule would call it low"),
    ),
    references=("https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when products below `max_peak_ratio` lose `min_ratio` of the step to their rooflines."""
    known = shortfalls(facts)
    if not known:
        yield cannot_tell("no product has a roofline: its device's peaks or its types are not known")
        return
    # Blocks along the diagonal of a causal mask are computed whole, and short sequences have little else.
    far = [one for one in known if one.whole_ratio < limits["max_peak_ratio"]]
    lacked = _without_core(facts)
    if far and lacked and not any(one.whole_ratio < limits["max_peak_ratio"] * (1 - lacked) for one in far):
        yield cannot_tell(
            f"the thread {facts.time.core_words} of the steps, enough to explain what products take longer"
        )
        return
    far = [one for one in far if one.whole_ratio < limits["max_peak_ratio"] * (1 - lacked)]
    above = sum(one.above_ns for one in far)
    ratio = facts.steps.ratio(round(above))
    if ratio < limits["min_ratio"]:
        least = share(limits["max_peak_ratio"])
        yield clear(
            f"products below {least} of their peak lose {share(ratio)} of the step, below {share(limits['min_ratio'])}"
        )
        return
    told = sum(one.above_ns for one in far if one.reasons)
    worst = max(far, key=lambda one: one.above_ns)
    named = not by_kernel_names(facts)
    why = worst.reasons[0] if worst.reasons else "its shapes do not tell why"
    saving = _saving(facts, far, above)
    yield Finding(
        why=f"Products of {count(len(far), 'operator')} reach less than {share(limits['max_peak_ratio'])} of what the device can "
        f"do and take {duration(facts.steps.per_step(above))} a step ({share(ratio)}) longer than at their roofline."
        f"{_unstated(facts, saving)} "
        f"The largest, `{worst.operator.op}`, reaches {share(worst.ratio)}: {why}.",
        saving=saving,
        fix=_fix(facts, far),
        verify="Record again with `--shapes` and compare the operators' share of the peak.",
        steps_seen=_steps(facts, far),
        confidence=Confidence.MEDIUM if told >= above / 2 and named else Confidence.LOW,
        evidence=(_table(facts, far),),
        severity_cap=Severity.HIGH if named else Severity.LOW,
        caveats=(
            "Peaks are those at full clock; kernels beside others take longer than alone.",
            *(() if named else (_UNNAMED,)),
        ),
    )


def _without_core(facts: Facts) -> float:
    """Share of the steps, 0..1, in which other programs had the core: ops without a device may have lost all of it."""
    return min(facts.steps.ratio(facts.time.without_core_ns), 1.0) if facts.device.main is None else 0.0


def _saving(facts: Facts, far: Sequence[Shortfall], above: float) -> Saving:
    basis = "the time above the rooflines of these operators; only sizes that can be rounded up are likely to bring some of it"
    usual = sum(_padded_ns(one) for one in far if one.padding_only)
    if facts.device.main is None:
        return Saving(kernel_ns=int(above), usual_kernel_ns=int(usual), basis=basis, kind=Figure.BOUND)
    mine = operators(facts).of_kernel
    of = [(mine == one.number, 1 - one.ratio) for one in far]
    return kernel_saving(facts, above, basis, of=of, usual_ns=usual)


def _padded_ns(one: Shortfall) -> float:
    """What padded sizes usually bring: no more than they do anywhere, and not beyond what libraries reach."""
    above = max(one.operator.device_ns - (one.place.least_ns or 0.0) / _USUAL_RATIO, 0.0)
    return min(above, PADDED_RATIO * one.operator.device_ns)


def _unstated(facts: Facts, saving: Saving) -> str:
    """Why no saving is stated, as a sentence, where a device would have a bound at least; empty where one is."""
    if facts.device.main is not None or saving.usual_ns:
        return ""
    return (
        " No saving is stated: with the work of each call as it is, nothing tells that it gets faster, and several calls made one "
        "save what lies between them, too, so that this time is no bound."
    )


def _steps(facts: Facts, far: Sequence[Shortfall]) -> int:
    if facts.device.main is None:
        return facts.steps.count
    return steps_with(facts, operators(facts).kernels_of([one.number for one in far]))


def _table(facts: Facts, far: Sequence[Shortfall]) -> Table:
    columns = (
        Column("operator", "text"), Column("of its peak", "ratio"), Column("above it a step", "ns"), Column("reason", "text"),
    )  # fmt: skip
    shown = sorted(far, key=lambda one: -one.above_ns)[:_SHOWN]
    return Table(
        "operators far below their roofline",
        columns,
        tuple(
            (
                operator(one.operator.op, one.operator.input_dims), one.ratio, facts.steps.per_step(one.above_ns),
                "; ".join(one.reasons) or "not told by its shapes",
            )
            for one in shown
        ),
    )  # fmt: skip


def _fix(facts: Facts, far: Sequence[Shortfall]) -> tuple[Advice, ...]:
    said = " ".join(reason for one in far for reason in one.reasons)
    chosen = [text for word, text in _FIXES.items() if word in said]
    return tuple(Advice("text", text) for text in chosen) or (
        Advice("text", _no_reason(facts) if facts.device.main is not None else _NO_REASON_ON_HOST),
    )


_FIXES = {
    "misaligned": "Round sizes up to a multiple of 8, better of 64: vocabulary, hidden sizes, channels, padded sequence lengths.",
    "skinny": "Make one product of several: concatenate weights of layers that read the same input, or collect more rows.",
    "small": "More work in each call: a larger batch, or several small products as one batched or grouped product.",
    "partly empty": "Change the batch or a hidden size so that tiles of 128 x 128 fill whole rounds of the multiprocessors.",
    "head dimension": "Choose a head dimension of 64 or 128: fewer, wider heads cost the same.",
    "each group": "Depthwise convolutions are limited by memory: keep `channels_last`, or trade them for grouped ones.",
    "few channels": "Images have three channels: fill them up with zeros to 4, in 16 bits to 8, and the weights of the first layer "
    "likewise; or put blocks of pixels into channels (`torch.nn.functional.pixel_unshuffle`) in front of a layer made for them.",
    "dilation": "Few kernels are made for it. A dilation of n is an ordinary convolution of each n-th place: take the image "
    "apart into n x n smaller ones in the batch, where its sizes divide by n, and time both.",
    "naively": "Another layout (`channels_last`), number format or size, or its search: `torch.backends.cudnn.benchmark = True`. "
    "Time each: no trace tells for which of them it has a better kernel.",
    "less than 10 us": "Fuse or batch calls this short: `torch.compile(model)`, or one product in place of several.",
}
_UNNAMED = (
    "The trace does not name its device: it is taken for the fastest one that its kernels were built for. A smaller one of the "
    "same design (fewer compute units) is nearer to its own peak."
)


def _no_reason(facts: Facts) -> str:
    return f"The shapes do not tell why: look at the longest of these kernels alone, with {profiler(facts)}."


_NO_REASON_ON_HOST = (
    "The shapes do not tell why: look at the longest of these ops with `perf`, or with the profiler of the processor's maker "
    "(VTune, uProf)."
)

RULE = Rule(META, check, __doc__)
