"""CP002 no-cpu-fast-path: the processor's matrix units stay unused, or data are re-laid for them over and over.

## What it finds
CPU-only runs that spend 5 % of the step in changing between plain and oneDNN layouts, or 32-bit matrix work on a processor
with units for bfloat16, or 16-bit matrix work on one without.

## Why it costs time
oneDNN wants tensors in blocks of its own; a model that leaves and enters that layout at each layer copies instead of
computing. AMX and AVX512-BF16 multiply bfloat16 numbers at a multiple of the rate of 32-bit ones. With AVX2 alone 16-bit
floats have no fast path at all: products took 25 to 87 times as long as in 32 bits, a convolution 13 times (torch 2.15).

## How it is measured
Time in reorder ops (`aten::to_mkldnn`, `aten::mkldnn_reorder_*`, `mkldnn::_reorder_*`) on the step's thread. Time in matrix ops
whose first tensor is float (needs `record_shapes=True`) and that last 10 us or more, with the processor's features as
`advisor collect` records them. Faster units shorten the arithmetic alone: by the shapes, what the products need at the rate that
the fastest of them reaches, or that `--calibrate` measured. The estimate follows peak rates: half of that with AVX512-BF16, 15 of
16 parts with AMX; of both formats as measured, where they were. Of 16-bit floats without units nine tenths. Where no types are
recorded, a quarter of the gradients that come back through a conversion (`ToCopyBackward0` right before `AccumulateGrad`) tell
that weights are converted in each step, as autocast does.

## Example
Slow:

```python
loss = criterion(model(images), labels)
```

Faster:

```python
model = model.to(memory_format=torch.channels_last)
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = criterion(model(images), labels)
```

## Fix
1. `torch.autocast("cpu", dtype=torch.bfloat16)`.
2. `channels_last`, and one layout throughout.
3. `torch.compile` fuses reorders away.
4. Without units for 16-bit floats: no autocast (`bf16=False`, `precision="32-true"`, `mixed_precision="no"`).

## Expected gain
The estimate takes peak rates, which are never reached, and leaves out what conversions between the formats cost: expect less. Of
four models that were tried (one core with AMX, 2026-11-26) two that mostly multiply got 27 and 29 % faster where 33 and 28 % are
estimated, one whose loss over a vocabulary takes long 12 % where 45 % are, and one of short products 20 % slower: nothing is said
of such a one.

## When it is wrong
Memory-bound layers gain nothing from faster units, nor does what a call takes whatever it multiplies; products so small that a
call is over in 10 us are left out. bfloat16 changes results. A newer processor may multiply bfloat16 with AVX2. The names of
reorders were not seen in a recorded trace yet.

## Thresholds
- `min_reorder_ratio`: share of the used steps in reorders from which the rule fires.
- `min_matrix_ratio`: share of the used steps in the arithmetic of 32-bit matrix work, or in 16-bit matrix work, from which the
  rule fires.

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
- https://docs.pytorch.org/tutorials/recipes/amx.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.kernels.cpu_work import CpuWork
from analyzer.finding import Advice, Confidence, Figure, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.hardware.single_products import single_products
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, rate, share
from rules.cpu.emulated import finding, multiplied
from rules.purpose import by_purpose
from traces.trace import Capability

META = RuleMeta(
    code="CP002",
    name="no-cpu-fast-path",
    family="cpu",
    title="CPU's fast matrix path is not used",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold("min_reorder_ratio", 0.05, "ratio", "rules.md CP002"),
        Threshold(
            "min_matrix_ratio", 0.2, "ratio", "as for a high finding: below, faster units change little of the step"
        ),
    ),
    topics=frozenset({"symptom"}),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    outside=("autocast",),
)

# What is saved at most, by peak rates against 32-bit vector units.
_SAVED = {"amx_bf16": 15 / 16, "avx512_bf16": 1 / 2}


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires on reorders, else on 32-bit matrix work beside better units, or 16-bit work without any."""
    if facts.device.main is not None or facts.device.unrecorded:
        yield not_applicable("the device computes, not the CPU")
        return
    work = facts.kernels.cpu_work
    ratio = facts.steps.ratio(work.reorder.total_ns)
    if ratio >= limits["min_reorder_ratio"]:
        yield _reordering(facts, work, ratio)
        return
    matrix = facts.steps.ratio(work.matrix.total_ns)
    if matrix < limits["min_matrix_ratio"]:
        yield clear(f"reorders take {share(ratio)} and matrix work {share(matrix)} of the step")
        return
    features = facts.recording.collected.cpu_features
    if features is None:
        yield cannot_tell("what the processor can do is not in the trace; `advisor collect` records it")
        return
    emulated = multiplied(facts)
    if emulated is not None and facts.steps.ratio(emulated.total_ns) >= limits["min_matrix_ratio"]:
        yield finding(facts, emulated)
        return
    unit = next((name for name in _SAVED if name in features), None)
    if unit is None:
        yield clear("the processor has no units for bfloat16")
    elif not work.typed:
        yield cannot_tell("needs record_shapes=True: the number format of the matrix work is not known")
    elif facts.steps.ratio(work.single.total_ns) < limits["min_matrix_ratio"]:
        yield clear(f"32-bit matrix work takes {share(facts.steps.ratio(work.single.total_ns))} of the step")
    else:
        yield _by_arithmetic(facts, work, unit, limits["min_matrix_ratio"])


def _by_arithmetic(facts: Facts, work: CpuWork, unit: str, least: float) -> Finding | Outcome:
    """The finding, where enough of the matrix work is arithmetic, and the units are faster at it."""
    found = single_products(facts)
    beside_ns = min(work.single.total_ns, found.time_ns) * (1 - found.arithmetic_ns / max(found.time_ns, 1))
    arithmetic = facts.steps.ratio(int(work.single.total_ns - beside_ns))
    if arithmetic < least:
        return clear(
            f"32-bit matrix work takes {share(facts.steps.ratio(work.single.total_ns))} of the step, its arithmetic "
            f"{share(arithmetic)}, below {share(least)}: it reaches {rate(found.flops_per_s, 'FLOP')} where these cores do "
            f"{rate(found.best_per_s, 'FLOP')} or more, and faster units shorten nothing else"
        )
    saved = _SAVED[unit]
    if found.short_per_s is not None:
        saved = max(1 - found.best_per_s / found.short_per_s, 0.0)
    if not saved:
        return clear("products of bfloat16 were measured to be no faster here than those of 32-bit floats")
    return _single(facts, work, unit, saved * arithmetic / facts.steps.ratio(work.single.total_ns))


def _reordering(facts: Facts, work: CpuWork, ratio: float) -> Finding:
    return Finding(
        why="Changing between plain and oneDNN layouts takes "
        f"{duration(facts.steps.per_step(work.reorder.total_ns))} of {facts.steps.each} "
        f"({share(ratio)}).",
        saving=Saving(work.reorder, basis="time in reorders; one layout throughout needs none"),
        fix=(_LAYOUT, _COMPILE),
        verify="Record again: the reorder ops should be gone.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
    )


def _single(facts: Facts, work: CpuWork, unit: str, saved: float) -> Finding:
    ratio = facts.steps.ratio(work.single.total_ns)
    return Finding(
        why=f"Matrix work on 32-bit floats takes {duration(facts.steps.per_step(work.single.total_ns))} of {facts.steps.each} "
        f"({share(ratio)}); the processor has {unit.upper().replace('_', '-')}.",
        saving=Saving(
            work.single.scaled(saved),
            basis="the arithmetic of matrix work at the units' rate at best, which is not reached, without what conversions cost",
            kind=Figure.ESTIMATE,
        ),
        fix=(*by_purpose(facts, (_AUTOCAST_RUN,), (_AUTOCAST,)), _LAYOUT, _COMPILE),
        verify="Record again with shapes: the matrix ops should take bfloat16 and become shorter.",
        steps_seen=facts.steps.count,
        confidence=Confidence.LOW,
        caveats=(
            "bfloat16 keeps 8 bits of precision: check that "
            + ("the results agree." if facts.model.infers else "the loss still falls."),
            "Autocast converts weights and activations: where products are short it can be slower. Time both.",
        ),
    )


_AUTOCAST = Advice(
    "diff",
    "+with torch.autocast('cpu', dtype=torch.bfloat16):\n-loss = criterion(model(images), labels)\n"
    "+    loss = criterion(model(images), labels)",
    "Only the forward pass goes inside; no gradient scaling is needed.",
)
_AUTOCAST_RUN = Advice(
    "diff",
    "+with torch.inference_mode(), torch.autocast('cpu', dtype=torch.bfloat16):\n-output = model(images)\n"
    "+    output = model(images)",
    "Or once, at the start: `model = model.to(torch.bfloat16)`.",
)
_LAYOUT = Advice(
    "diff",
    "+model = model.to(memory_format=torch.channels_last)\n+images = images.to(memory_format=torch.channels_last)",
    "For models of convolutions.",
)
_COMPILE = Advice(
    "python", "model = torch.compile(model)", "Keeps oneDNN's layout between layers and fuses around them."
)

RULE = Rule(META, check, __doc__)
