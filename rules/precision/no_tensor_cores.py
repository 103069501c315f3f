"""PR001 no-tensor-cores: matrix work runs in single precision beside idle tensor cores.

## What it finds
GEMMs and convolutions in 32-bit floating point on a card with tensor cores, where next to none of the matrix work uses them.

## Why it costs time
Tensor cores multiply 16-bit matrices many times as fast as the ordinary units multiply 32-bit ones, and 16-bit tensors move half
the bytes. A model that never asks for them leaves most of the card's arithmetic unused.

## How it is measured
`|single-precision GEMM and convolution kernels without tensor cores| / |device busy|` over the used steps. Where shapes were
recorded, the format is the `Input type` of the nearest matrix op above the launch (under autocast the op inside the cast counts);
else kernel names decide: `sgemm`, `scudnn`, `implicit_convolve_sgemm`, `winograd`. Matrix-vector products and depthwise
convolutions do not count. The rule holds back where tensor cores already do part of the matrix work.

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
3. Code that must stay in 32 bits: TF32 on Ampere and newer (PR002).

## Expected gain
Up to what the peak rates of the card's generation say (7 of 8 parts of the kernels' time on Volta, 15 of 16 on Ampere and
Hopper), times the share of the step in which the device is busy; a factor of two to four is usual. Nothing where the run is
launch-bound, because faster kernels then only wait longer. Where PR002 fires too, this is what remains after it.

## When it is wrong
Code that needs 32 bits (some scientific and financial models). Small or memory-bound matrices gain less. From names alone the
format of unknown kernels is not seen.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.
- `max_tensor_core_ratio`: share of the matrix work on tensor cores up to which they count as unused.

## References
- TensorBoard profiler plugin, `tensor_core.py`: eligible ops and no tensor-core kernel
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.evidence import kernel_saving, kernel_table, steps_with
from rules.precision.common import AMPERE, VOLTA, doubts, short_ratio, tf32_ratio, tf32_unused, unanswerable
from traces.trace import Capability

META = RuleMeta(
    code="PR001",
    name="no-tensor-cores",
    family="precision",
    title="Matrix work in FP32, tensor cores idle",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "min_busy_ratio", 0.10, "ratio", "rules.md PR001; below, halving it saves less than a step in twenty"
        ),
        Threshold(
            "max_tensor_core_ratio",
            0.05,
            "ratio",
            "TensorBoard asks for exactly 0; one stray library kernel should not silence the rule",
        ),
    ),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when single-precision matrix work owns `min_busy_ratio` of the busy time and tensor cores do next to nothing."""
    outcome = _not_asked(facts)
    work = facts.matrix_work
    ratio = facts.kernels.busy_ratio(work.single)
    if outcome is None and work.tensor_core_ratio > limits["max_tensor_core_ratio"]:
        outcome = clear(f"tensor cores do {share(work.tensor_core_ratio)} of the matrix work")
    if outcome is None and ratio < limits["min_busy_ratio"]:
        floor = share(limits["min_busy_ratio"])
        outcome = clear(f"single-precision matrix work is {share(ratio)} of the busy time, below {floor}")
    if outcome is not None:
        yield outcome
        return
    how = "recorded input types" if work.by_types else "kernel names"
    most = short_ratio(facts)
    # Of what TF32 leaves.
    after = max(0.0, most - tf32_ratio(facts)) if tf32_unused(facts).any() else most
    confidence, caveats = doubts(facts)
    yield Finding(
        why=f"{share(ratio)} of the GPU's busy time is matrix work in single precision, by {how}; tensor cores do "
        f"{share(work.tensor_core_ratio)} of the matrix work.",
        saving=kernel_saving(
            facts,
            after * facts.kernels.time_ns(work.single),
            f"{share(most)} of these kernels' time, by the peak rates of this generation"
            + (", less what TF32 alone gives (PR002)" if after < most else ""),
        ),
        fix=_fix(work.compute_major or VOLTA),
        verify="Record again: kernel names should hold `bf16`, `f16` or `h884`; compare the loss curve with the old one.",
        steps_seen=steps_with(facts, work.single),
        confidence=confidence,
        evidence=(kernel_table(facts, work.single, f"longest single-precision kernels (formats from {how})"),),
        caveats=caveats,
    )


def _not_asked(facts: Facts) -> Outcome | None:
    outcome = unanswerable(
        facts, "measured on NVIDIA cards only: elsewhere kernel names do not tell matrix cores apart"
    )
    if outcome is None and (facts.matrix_work.compute_major or 0) < VOLTA:
        return not_applicable("this card has no tensor cores")
    return outcome


def _fix(major: int) -> tuple[Advice, ...]:
    if major >= AMPERE:
        return (
            Advice(
                "diff",
                '+with torch.autocast("cuda", dtype=torch.bfloat16):\n'
                "     output = model(x)\n     loss = criterion(output, target)\n loss.backward()",
                "bfloat16 keeps the range of float32, so no loss scaling is needed. Watch the loss over a few hundred steps.",
            ),
        )
    return (
        Advice(
            "diff",
            '+scaler = torch.amp.GradScaler("cuda")\n+with torch.autocast("cuda", dtype=torch.float16):\n'
            "     loss = criterion(model(x), target)\n-loss.backward()\n-optimizer.step()\n+scaler.scale(loss).backward()\n"
            "+scaler.step(optimizer)\n+scaler.update()",
            "This generation has float16 tensor cores only: small gradients need the scaler. torch before 2.3: torch.cuda.amp.",
        ),
    )


RULE = Rule(META, check, __doc__)
