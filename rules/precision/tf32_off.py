"""PR002 tf32-off: single-precision matrix work on a card that could use TF32.

## What it finds
GEMMs or convolutions with 32-bit inputs that run on the ordinary units of an Ampere or newer card.

## Why it costs time
Since Ampere, tensor cores also take 32-bit inputs, rounding them to TF32 (10 bits of mantissa, the range of float32). For matrix
products PyTorch leaves this off unless asked; the ordinary units are several times slower.

## How it is measured
`|single-precision matrix kernels without tensor cores| / |device busy|`, kind by kind: where any GEMM (any convolution)
already runs in TF32, its switch is on and kernels of that kind do not count. Formats come from input types where recorded, else
from kernel names.

## Example
Slow:

```python
model = build_model().cuda()
```

Faster:

```python
torch.set_float32_matmul_precision("high")
model = build_model().cuda()
```

## Fix
1. `torch.set_float32_matmul_precision("high")` once, before training.
2. Convolutions: remove `torch.backends.cudnn.allow_tf32 = False`, if some line sets it; it is on by default.
3. More: 16-bit autocast (PR001).

## Expected gain
At most what the peak rates of the card's generation say (7 of 8 parts of these kernels' time on Ampere and Hopper); two to four
times as fast has been measured, so half of their time is what is likely, times the share of the step in which the device is busy.
Where the run is launch-bound only kernels that the host waits for get the step shorter. PR001 speeds up the same kernels: each
states its own bound, the headline counts the larger.

## When it is wrong
Models that need the full mantissa: second-order methods, some physics. Recent torch also offers the switch as
`torch.backends.cuda.matmul.fp32_precision`.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.

## References
- torch `_pattern_matcher.py`, FP32MatMulPattern (on live profiles; the switch itself is not in a saved trace)
- https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Finding, Outcome, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.changes import as_new_as
from rules.evidence import kernel_saving, kernel_table, steps_with
from rules.precision.common import AMPERE, FORMAT, USUAL_RATIO, doubts, tf32_ratio, tf32_unused, unanswerable
from traces.trace import Capability

META = RuleMeta(
    code="PR002",
    name="tf32-off",
    family="precision",
    title="FP32 matrix work without TF32",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "min_busy_ratio", 0.10, "ratio", "rules.md PR002; below, halving it saves less than a step in twenty"
        ),
    ),
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html",),
    outside=("tf32",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when matrix work that TF32 would serve owns `min_busy_ratio` of the busy time."""
    outcome = _not_asked(facts)
    if outcome is not None:
        yield outcome
        return
    rows = tf32_unused(facts)
    ratio = facts.kernels.named.busy_ratio(rows)
    if ratio < limits["min_busy_ratio"]:
        floor = share(limits["min_busy_ratio"])
        yield clear(f"matrix work that TF32 would serve is {share(ratio)} of the busy time, below {floor}")
        return
    named, fallen_back = facts.kernels.named, rows & facts.kernels.attention.fallen_back
    if 2 * named.time_ns(fallen_back) > named.time_ns(rows):
        yield clear(
            f"{share(named.busy_ratio(fallen_back))} of the busy time are products in full single precision of attention that "
            "`scaled_dot_product_attention` writes out itself: a fused kernel takes them away (GR005)"
        )
        return
    work = facts.kernels.matrix_work
    how = "recorded input types" if work.by_types else "kernel names"
    confidence, caveats = doubts(facts)
    yield Finding(
        why=f"{share(ratio)} of the GPU's busy time is matrix work in full single precision, by {how}; none of its kind uses TF32.",
        saving=kernel_saving(
            facts,
            tf32_ratio(facts) * facts.kernels.named.time_ns(rows),
            f"{share(tf32_ratio(facts))} of these kernels' time, by the peak rates of this generation",
            of=((rows, tf32_ratio(facts)),),
            usual_ns=USUAL_RATIO * facts.kernels.named.time_ns(rows),
            way=FORMAT,
        ),
        fix=_fix(facts),
        verify="Record again: kernel names should hold `tf32` or `s1688`; compare "
        + ("the results with the old ones." if facts.model.infers else "the loss curve with the old one."),
        steps_seen=steps_with(facts, rows),
        confidence=confidence,
        evidence=(kernel_table(facts, rows, f"longest kernels in full single precision (formats from {how})"),),
        caveats=caveats,
    )


def _not_asked(facts: Facts) -> Outcome | None:
    outcome = unanswerable(facts, "TF32 is a format of NVIDIA cards")
    if outcome is not None or (facts.kernels.matrix_work.compute_major or 0) >= AMPERE:
        return outcome
    if facts.kernels.matrix_work.card_known:
        return not_applicable("this card is older than Ampere and has no TF32")
    return cannot_tell(
        "whether this card has TF32: the trace has no deviceProperties; record it with torch 1.9 or newer"
    )


_OLD = "torch.backends.cudnn.allow_tf32 = True"
_NEW = 'torch.backends.cudnn.conv.fp32_precision = "tf32"'


def _fix(facts: Facts) -> tuple[Advice, ...]:
    rows, work = tf32_unused(facts), facts.kernels.matrix_work
    products = Advice(
        "python",
        'torch.set_float32_matmul_precision("high")   # once, at the start',
        "Rounds the inputs of float32 matrix products to TF32 and adds up in float32.",
    )
    # torch 2.9 and newer know both, but refuse a program that mixes them (pytorch#179445).
    renamed = as_new_as(facts, (2, 9))
    convolutions = Advice(
        "python",
        f"{_NEW if renamed else _OLD}   # the default: look for the line that switches it off",
        "The same for convolutions." + ("" if renamed else f" torch 2.9 and newer also call it `{_NEW}`."),
    )
    found = facts.kernels.named
    of_products = found.time_ns(rows & ~work.convolution) >= found.time_ns(rows & work.convolution)
    return (products, convolutions) if of_products else (convolutions, products)


RULE = Rule(META, check, __doc__)
