"""PR003 misaligned-gemm: matrix sizes that tensor cores can only load in small pieces.

## What it finds
Matrix products in 16-bit floats or TF32 whose operands are not aligned to 16 bytes: a vocabulary, a hidden size or a sequence
length that is no multiple of 8.

## Why it costs time
Tensor cores load operands 16 bytes at a time. Where a row does not begin on such a boundary, the library falls back to kernels
that load one or two elements at a time, or to kernels of an older generation.

## How it is measured
By name, without any option: GEMM kernels that end in `_align1` or `_align2` (CUTLASS), in a format tensor cores take. By shape,
where shapes were recorded: kernels of `aten::mm`, `bmm`, `addmm` and `baddbmm` with 16-bit inputs whose K or N is no multiple
of 8. Measured as `|such kernels| / |device busy|`.

## Example
Slow:

```python
head = torch.nn.Linear(768, 50257)
```

Faster:

```python
head = torch.nn.Linear(768, 50304)  # 50257 rounded up to a multiple of 64
```

## Fix
1. Round vocabulary, hidden and head sizes up to a multiple of 8, better 64; the extra classes are never a target.
2. Pad batches of sequences: `pad_to_multiple_of=8` in the tokenizer or the collate function. Said where text shows: a library for
   it, or tokens that are looked up for attention or a recurrent layer.
3. Attention over odd sequence lengths: `F.scaled_dot_product_attention` pads inside.

## Expected gain
At most three quarters of these kernels' time (a factor of 4), times the share of the step in which the device is busy. NVIDIA
publishes no figure for the way back to aligned kernels; the largest measurement found is 3.5 times as fast, on an H100, where a
kernel built for Ampere had stood in for one of Hopper. A factor of 1.5 is usual, and no trace tells which: time one product both
ways.

## When it is wrong
By shape it is a guess: newer libraries use tensor cores for odd sizes too, only slower. M (batch times sequence) matters less
than K and N. Names of cuBLAS kernels on Hopper (`nvjet`) and of AMD kernels state no alignment; there only shapes can tell.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.

## References
- NVIDIA, Matrix Multiplication Background: tensor core requirements
- https://github.com/m87-labs/kestrel/pull/143 (3.5 times as fast on an H100)
- torch `_pattern_matcher.py`, MatMulDimInFP16; https://github.com/NVIDIA/cutlass/issues/75
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.kernels.alignment import WIDTH, Alignment
from analyzer.finding import (
    Advice,
    Column,
    Confidence,
    Finding,
    Outcome,
    Table,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.evidence import PADDED_RATIO, kernel_saving, kernel_table, steps_with
from traces.trace import Capability

# A factor of 4, above the largest measurement found: 130.56 us became 36.96 us with K of 588 padded to 592 on an H100.
_GAIN_RATIO = 3 / 4

META = RuleMeta(
    code="PR003",
    name="misaligned-gemm",
    family="precision",
    title="Matrix sizes not a multiple of 8",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "min_busy_ratio",
            0.05,
            "ratio",
            "rules.md PR003: 13-42 % were measured where it mattered, below 5 % otherwise",
        ),
    ),
    # Where these are most of the products far below their roofline, those are told once: by what to change.
    explains=("KE005",),
    references=(
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",
        "https://github.com/NVIDIA/cutlass/issues/75",
    ),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when misaligned matrix products own `min_busy_ratio` of the busy time."""
    found = facts.kernels.alignment
    rows = found.by_name | found.by_shape
    ratio = facts.kernels.named.busy_ratio(rows)
    if ratio < limits["min_busy_ratio"]:
        yield _quiet(found, ratio, limits["min_busy_ratio"])
        return
    named = facts.kernels.named.time_ns(found.by_name) >= facts.kernels.named.time_ns(found.by_shape & ~found.by_name)
    how = "kernels built for unaligned operands" if named else "products whose sizes are no multiple of 8"
    yield Finding(
        why=f"{share(ratio)} of the device's busy time is in {how}: tensor cores load those operands in small pieces.",
        saving=kernel_saving(
            facts,
            _GAIN_RATIO * facts.kernels.named.time_ns(rows),
            "three quarters of these kernels' time: padded ones were measured up to 3.5 times as fast, 1.5 is usual",
            of=((rows, _GAIN_RATIO),),
            usual_ns=PADDED_RATIO * facts.kernels.named.time_ns(rows),
        ),
        fix=_fix(facts, found),
        verify="Record again: GEMM kernel names should end in `_align8` (TF32: `_align4`), and their time should fall."
        if named
        else "Record again: no product with such sizes, and less time in products.",
        steps_seen=steps_with(facts, rows),
        confidence=Confidence.MEDIUM if named else Confidence.LOW,
        evidence=_evidence(facts, found),
        caveats=("How much padding gives is not in a trace: time one product with both sizes.",)
        if named
        else ("By shapes alone: a newer library may handle these sizes well; time one product both ways.",),
    )


def _quiet(found: Alignment, ratio: float, floor: float) -> Outcome:
    if not found.products.any():
        return not_applicable("no matrix product in a format that tensor cores take")
    if max(found.named, found.shaped) < 1 - floor:
        return cannot_tell("these kernels' names state no alignment: needs record_shapes=True")
    return clear(f"misaligned matrix products are {share(ratio)} of the busy time, below {share(floor)}")


def _fix(facts: Facts, found: Alignment) -> tuple[Advice, ...]:
    text = _reads_text(facts)
    odd = next((size for depth, width, _ in found.sizes for size in (width, depth) if size % WIDTH), None)
    example = f"{odd} -> {-(-odd // WIDTH) * WIDTH}" if odd else "50257 -> 50304" if text else "1001 -> 1008"
    sizes = "vocabulary, hidden and head sizes" if text else "the layers' sizes (features, hidden units, classes)"
    rounded = Advice(
        "text",
        f"Round {sizes} up to a multiple of {WIDTH}, better of 64 (here: {example}).",
        "When loading an old checkpoint fill the new rows with zeros, and cut outputs that are no class off before a softmax: "
        "their 0 would count. Features over which a layer is normalised cannot be padded so.",
    )
    if not text:
        return (rounded,)
    return (
        rounded,
        Advice(
            "python",
            'collate = DataCollatorWithPadding(tokenizer, padding="longest", pad_to_multiple_of=8)',
            "Where the odd size is a sequence length.",
        ),
    )


def _reads_text(facts: Facts) -> bool:
    """Whether the program shows text: a library for it, or tokens that are looked up for attention or a recurrent layer."""
    if facts.recording.frameworks.uses("transformers", "sentence_transformers", "trl", "tokenizers"):
        return True
    attention = facts.kernels.attention
    reads = attention.calls > 0 or bool(attention.fused.any()) or facts.input.padding.recurrent
    return reads and facts.input.padding.looked_up


def _evidence(facts: Facts, found: Alignment) -> tuple[Table, ...]:
    kernels = kernel_table(facts, found.by_name | found.by_shape, "longest misaligned products")
    columns = (Column("K", "count"), Column("N", "count"), Column("time a step", "ns"))
    rows = tuple((depth, width, facts.steps.per_step(ns)) for depth, width, ns in found.sizes)
    return (kernels, Table("their sizes, [M, K] x [K, N]", columns, rows)) if rows else (kernels,)


RULE = Rule(META, check, __doc__)
