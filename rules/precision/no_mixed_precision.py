"""PR001 no-mixed-precision: matrix work runs on 32-bit floats, where 16 bits would do.

## What it finds
GEMMs and convolutions on 32-bit floats, in plain single precision or rounded to TF32, on a card with tensor or matrix cores, where
next to none of the matrix work is done in 16 bits or fewer.

## Why it costs time
Tensor cores multiply 16-bit matrices many times as fast as the ordinary units multiply 32-bit ones, and twice as fast as they do
TF32; 16-bit tensors move half the bytes. TF32 is on by default for convolutions, not for matrix products: a model that never asks
for 16 bits leaves at least half of the card's arithmetic unused.

## How it is measured
`|GEMM and convolution kernels on 32-bit floats| / |device busy|` over the used steps. Where shapes were recorded, the format is the
`Input type` of the nearest matrix op above the launch (under autocast the op inside the cast counts); else kernel names decide:
`sgemm`, `scudnn`, `ffma`, `implicit_convolve_sgemm`, `winograd`, `tf32` or `s1688gemm`, on ROCm `Cijk_..._SB_`. Matrix-vector
products and depthwise convolutions do not count. The rule holds back where part of the matrix work is done in 16 bits already,
unless a program that only runs its models does all of its convolutions, or all of its products, on 32-bit floats: then one of its
models has 32-bit weights, as decoders of images often have.

## Example
Slow:

```python
loss = criterion(model(images), labels)
loss.backward()
```

Faster:

```python
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(images), labels)
loss.backward()
```

## Fix
1. Ampere and newer: `torch.autocast("cuda", dtype=torch.bfloat16)` around forward and loss.
2. Volta and Turing have no bfloat16 units: `torch.float16` with `torch.amp.GradScaler`.
3. A program that only runs its model: the weights themselves in 16 bits, nothing to scale; an engine that serves it, its `dtype`.
4. A teacher or a frozen encoder in 32 bits beside a model that is trained in 16: 16 bits for it as well.
5. Code that must stay in 32 bits: TF32 on Ampere and newer (PR002).

## Expected gain
At most, of plain single precision, what the peak rates of the card's generation say (7 of 8 parts of the kernels' time on Volta,
15 of 16 on Ampere and Hopper, and on AMD's matrix cores). For TF32 it is half of these kernels' time, and half of that of the
pointwise kernels: 16 bits halve the bytes of both. From plain single precision a speed-up of one and a half to three times is
usual; likely is therefore half of the matrix kernels' time. From TF32 it is next to nothing (4 to 6 % on an A100 with T5) to
twofold; likely is therefore a quarter of these kernels' time, and of the pointwise kernels' where most of the matrix work is TF32.
Both are counted as far as the device is what the step waits for. In a launch-bound run faster kernels mostly wait longer for their
launch; only what the host waits for gets shorter. PR002 speeds up the same kernels: each rule states its own bound, and the
headline counts the larger.

## When it is wrong
Code that needs 32 bits (some scientific and financial models). Small or memory-bound matrices gain less. From names alone the
format of unknown kernels is not seen.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.
- `max_short_ratio`: share of the matrix work in 16 bits or fewer up to which mixed precision counts as not used.

## References
- TensorBoard profiler plugin, `tensor_core.py`: eligible ops and no tensor-core kernel
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
- https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/
- https://github.com/huggingface/transformers/issues/15026: 94, 211 and 224 samples a second in float32, TF32 and bfloat16
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.arrays import BoolArray
from analyzer.units import share
from rules.changes import older_than
from rules.evidence import kernel_saving, kernel_table, steps_with
from rules.framework_words import sixteen_bits
from rules.precision.common import AMPERE, FORMAT, USUAL_RATIO, VOLTA, doubts, short_ratio, unanswerable
from rules.precision.one_model import FROZEN, frozen_apart, kind_apart, of_frozen, of_kind, of_one_model
from rules.purpose import by_purpose
from traces.trace import Capability

META = RuleMeta(
    code="PR001",
    name="no-mixed-precision",
    family="precision",
    title="Matrix work in 32 bits instead of 16",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "min_busy_ratio", 0.10, "ratio", "rules.md PR001; below, halving it saves less than a step in twenty"
        ),
        Threshold(
            "max_short_ratio",
            0.05,
            "ratio",
            "TensorBoard asks for exactly 0; one stray library kernel should not silence the rule",
        ),
    ),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    outside=("autocast",),
)

# Tensor cores do 16-bit products twice as fast as TF32 ones, on every generation that has both; and half the bytes are moved.
_HALF = 0.5
# Autocast casts what it keeps in 32 bits to and fro, which TF32 does not: measured savings go from 4 % of a step to half of it.
_USUAL_OF_ROUNDED = 0.25


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when matrix work on 32-bit floats owns `min_busy_ratio` of the busy time and next to none is done in 16 bits."""
    outcome = _not_asked(facts)
    work = facts.kernels.matrix_work
    kind = (
        kind_apart(facts, _plain(facts) | work.tf32, limits["max_short_ratio"])
        if work.short_ratio > limits["max_short_ratio"]
        else None
    )
    frozen = kind is None and frozen_apart(facts, _plain(facts) | work.tf32)
    rows = (_plain(facts) | work.tf32) & (facts.kernels.named.every if kind is None else of_kind(facts, kind))
    ratio = facts.kernels.named.busy_ratio(rows)
    if outcome is None and work.short_ratio > limits["max_short_ratio"] and kind is None and not frozen:
        outcome = clear(f"{share(work.short_ratio)} of the matrix work is done in 16 bits or fewer")
    if outcome is None and ratio < limits["min_busy_ratio"]:
        floor = share(limits["min_busy_ratio"])
        outcome = clear(f"matrix work on 32-bit floats is {share(ratio)} of the busy time, below {floor}")
    if outcome is not None:
        yield outcome
        return
    apart = frozen and work.short_ratio > limits["max_short_ratio"]
    how = "recorded input types" if work.by_types else "kernel names"
    rounded = facts.kernels.named.time_ns(work.tf32 & rows) / facts.kernels.named.time_ns(rows)
    confidence, caveats = doubts(facts)
    saving, moves = _saving(facts, rows)
    if moves:
        confidence = Confidence.MEDIUM if confidence is Confidence.HIGH else confidence
    if facts.kernels.fusion.pointwise.any() and not facts.model.infers:
        caveats = (*caveats, "Autocast leaves some pointwise ops in 32 bits: normalisations, softmax, losses.")
    yield Finding(
        why=f"{share(ratio)} of the GPU's busy time is matrix work on 32-bit floats"
        + ("" if _amd(facts) else f", {share(rounded) if rounded else 'none'} of it in TF32")
        + f", by {how}; {share(work.short_ratio)} of the matrix work is done in 16 bits"
        + (f": {kind or FROZEN} are not." if kind or apart else "."),
        saving=saving,
        fix=of_one_model(facts, kind)
        if kind is not None
        else of_frozen(facts)
        if apart
        else _fix(facts, AMPERE if _amd(facts) else work.compute_major or VOLTA),
        verify=f"Record again: kernel names should hold {'`_BBS_` or `_HHS_`' if _amd(facts) else '`bf16`, `f16` or `h884`'}; "
        f"compare {'the results with the old ones' if facts.model.infers else 'the loss curve with the old one'}.",
        steps_seen=steps_with(facts, rows),
        confidence=confidence,
        evidence=(kernel_table(facts, rows, f"longest kernels on 32-bit floats (formats from {how})"),),
        caveats=caveats,
    )


def _plain(facts: Facts) -> BoolArray:
    """Kernels in plain single precision, fused attention on floats among them."""
    found = facts.kernels.named
    return facts.kernels.matrix_work.single | (found.is_family("attention") & found.is_format("fp32"))


def _saving(facts: Facts, rows: BoolArray) -> tuple[Saving, bool]:
    """What 16 bits leave of each kind of kernel; and whether much of what is likely is of pointwise ones."""
    work, found = facts.kernels.matrix_work, facts.kernels.named
    plain, rounded = _plain(facts) & rows, work.tf32 & rows
    most, plain_ns, rounded_ns = short_ratio(facts), found.time_ns(plain), found.time_ns(rounded)
    of = [(plain, most), (rounded, _HALF)]
    usual = min(most, USUAL_RATIO) * plain_ns + _USUAL_OF_ROUNDED * rounded_ns
    # In 16 bits they move half the bytes, as far as autocast lets them run so.
    carried = facts.kernels.fusion.pointwise & ~found.is_format("fp16", "bf16") & ~_plain(facts) & ~work.tf32
    of.append((carried, _HALF))
    gain = sum(ratio * found.time_ns(rows) for rows, ratio in of)
    # Where matrices gain many times as much, what usually comes of them has room for the bytes saved beside them.
    moves = rounded_ns > plain_ns
    if moves:
        usual += _USUAL_OF_ROUNDED * found.time_ns(carried)
    parts = []
    if plain_ns:
        parts.append(
            f"{share(most)} of the time of kernels in plain single precision, by the peak rates of this generation"
        )
    if rounded_ns:
        parts.append("half of those in TF32")
    if carried.any():
        parts.append("half of pointwise ones, which then move half the bytes")
    return kernel_saving(facts, gain, "; ".join(parts), of=of, usual_ns=usual, way=FORMAT), moves


def _not_asked(facts: Facts) -> Outcome | None:
    outcome = unanswerable(
        facts, "measured on NVIDIA and AMD cards only: elsewhere kernel names state no formats", kinds=("cuda", "rocm")
    )
    old = (facts.kernels.matrix_work.compute_major or 0) < VOLTA or _without_cores(facts)
    if outcome is None and not _amd(facts) and old:
        return not_applicable("this card has no tensor cores")
    return outcome


def _without_cores(facts: Facts) -> bool:
    """Whether the trace names cards of Turing that were built without tensor cores, whose compute capability says nothing of it."""
    cards = facts.device.cards
    return bool(cards) and all("GTX 16" in card.name for card in cards)


def _amd(facts: Facts) -> bool:
    return facts.device.kind == "rocm"


def _running(said: str | None, kind: str) -> Advice:
    """Without a backward pass the weights themselves can have 16 bits, and no loss has to be scaled.

    Args:
        said: The change in the words of the program's engine or framework.
        kind: The format that the card computes fast.
    """
    reach = (
        "bfloat16 keeps the range of float32" if kind == "bfloat16" else "This generation has float16 tensor cores only"
    )
    return Advice(
        "diff",
        said
        or f"+model = model.to(torch.{kind})\n with torch.inference_mode():\n-    output = model(x)\n"
        f"+    output = model(x.to(torch.{kind}))",
        f"{reach}. Where a layer needs 32 bits, `torch.autocast` around the pass chooses for each op.",
    )


def _fix(facts: Facts, major: int) -> tuple[Advice, ...]:
    said = sixteen_bits(facts, bfloat16=major >= AMPERE)
    running = _running(said, "bfloat16" if major >= AMPERE else "float16")
    return by_purpose(facts, (running,), _training(facts, said, major))


def _training(facts: Facts, said: str | None, major: int) -> tuple[Advice, ...]:
    if major >= AMPERE:
        return (
            Advice(
                "diff",
                said
                or '+with torch.autocast("cuda", dtype=torch.bfloat16):\n'
                "     output = model(x)\n     loss = criterion(output, target)\n loss.backward()",
                "bfloat16 keeps the range of float32, so no loss scaling is needed. Watch the loss over a few hundred steps.",
            ),
        )
    if said is not None:
        return (
            Advice(
                "diff",
                said,
                "This generation has float16 tensor cores only: the framework scales the loss, so that small gradients are kept.",
            ),
        )
    scaler = "torch.cuda.amp.GradScaler()" if older_than(facts, (2, 3)) else 'torch.amp.GradScaler("cuda")'
    return (
        Advice(
            "diff",
            f'+scaler = {scaler}\n+with torch.autocast("cuda", dtype=torch.float16):\n'
            "     loss = criterion(model(x), target)\n-loss.backward()\n-optimizer.step()\n+scaler.scale(loss).backward()\n"
            "+scaler.step(optimizer)\n+scaler.update()",
            "This generation has float16 tensor cores only: small gradients need the scaler. Before torch 2.3: "
            "`torch.cuda.amp.GradScaler()`.",
        ),
    )


RULE = Rule(META, check, __doc__)
