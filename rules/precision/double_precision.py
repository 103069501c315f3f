"""PR005 double-precision: the device computes in 64-bit floats.

## What it finds
Kernels that work on `double` tensors: usually a NumPy array or a Python number that became one by accident.

## Why it costs time
Cards built for it (V100, A100, H100) compute 64-bit floats at half the speed of 32-bit ones, others at 1/32 or less, and every
tensor is twice as large. Matrix products are another matter: tensor cores of A100 and H100 multiply 64-bit floats as fast as plain
32-bit ones are multiplied, and TF32 or 16 bits many times faster.

## How it is measured
`|double kernels| / |device busy|`: kernels whose op has a `double` tensor as input where types were recorded, else kernels
whose name is of that type (`dgemm`, functors of `double`). A `double` argument such as an epsilon does not count.

## Example
Slow:

```python
x = torch.from_numpy(numpy.random.rand(64, 1024)).cuda()
```

Faster:

```python
x = torch.from_numpy(numpy.random.rand(64, 1024).astype("float32")).cuda()
```

## Fix
1. Convert at the source: `astype("float32")`, `torch.tensor(values, dtype=torch.float32)`.
2. On A100 and H100, for matrix products: TF32 or 16 bits as well (PR001, PR002); plain 32 bits alone are no faster.
3. Find the op: record with `record_shapes=True`, or raise on double tensors in a forward hook.

## Expected gain
Half of these kernels' time, times the share of the step in which the device is busy; far more on consumer cards. Nothing is called
likely of matrix products on tensor cores for 64 bits.

## When it is wrong
Code that needs 64 bits: solvers, long sums, some physics.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.

## References
- NVIDIA data sheets: FP64 at 1/2 of FP32 on A100 and H100, at 1/64 on RTX 30 and 40
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.arrays import BoolArray
from analyzer.units import share
from rules.evidence import kernel_saving, kernel_table, steps_with
from traces.trace import Capability

# NVIDIA's data sheets: A100 19.5 TFLOPS in 64 bits on tensor cores and in plain 32 bits, H100 67 and 67.
_TENSOR_CORES_OF_64_BITS = frozenset({(8, 0), (9, 0)})
_TF32_AS_WELL = Advice(
    "python",
    'torch.set_float32_matmul_precision("high")   # once, at the start',
    "This card's tensor cores multiply 64-bit floats as fast as it multiplies plain 32-bit ones: only in TF32 or 16 bits do matrix "
    "products get faster (PR001, PR002).",
)
# Data-centre cards; consumer cards gain far more.
_GAIN_RATIO = 0.5

META = RuleMeta(
    code="PR005",
    name="double-precision",
    family="precision",
    title="64-bit floats on the device",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold("min_busy_ratio", 0.01, "ratio", "rules.md PR005: wanted, it is far more; unwanted, any is too much"),
    ),
    references=("https://docs.nvidia.com/cuda/cuda-c-programming-guide/",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when double kernels own `min_busy_ratio` of the busy time."""
    kernels = facts.kernels.named
    if not len(kernels.frame):
        yield not_applicable("no kernel in the used steps")
        return
    rows, by_types = facts.kernels.double_kernels
    ratio = kernels.busy_ratio(rows)
    if ratio < limits["min_busy_ratio"]:
        yield clear(f"64-bit kernels are {share(ratio)} of the busy time, below {share(limits['min_busy_ratio'])}")
        return
    as_fast = _as_fast(facts) & rows
    how = "input types" if by_types else "kernel names"
    yield Finding(
        why=f"{share(ratio)} of the device's busy time is in kernels on 64-bit floats, by {how}.",
        saving=kernel_saving(
            facts,
            kernels.time_ns(rows),
            "all of these kernels' time; half of it goes on data-centre cards, nearly all on others"
            + (", and of products on tensor cores nothing without TF32 or 16 bits" if as_fast.any() else ""),
            of=((rows, 1.0),),
            usual_ns=_GAIN_RATIO * kernels.time_ns(rows & ~as_fast),
        ),
        fix=(
            Advice(
                "diff",
                "-x = torch.from_numpy(array)\n+x = torch.from_numpy(array.astype('float32'))",
                "NumPy's default is 64 bits; Python floats in torch.tensor(...) are not the cause.",
            ),
            *((_TF32_AS_WELL,) if as_fast.any() else ()),
        ),
        verify="Record again with record_shapes=True: no op should have an input of type `double`.",
        steps_seen=steps_with(facts, rows),
        confidence=Confidence.HIGH if by_types else Confidence.MEDIUM,
        evidence=(kernel_table(facts, rows, "longest 64-bit kernels"),),
        caveats=("Intended where results need more than seven digits.",),
    )


def _as_fast(facts: Facts) -> BoolArray:
    """Matrix products that tensor cores do on 64-bit floats as fast as 32-bit ones are multiplied without, shape (kernels,)."""
    kernels = facts.kernels.named
    known = {card.capability for card in facts.device.cards}
    if facts.device.kind != "cuda" or not known or not known <= _TENSOR_CORES_OF_64_BITS:
        return kernels.none
    return kernels.is_family("gemm")


RULE = Rule(META, check, __doc__)
