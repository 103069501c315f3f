"""PR005 double-precision: the device computes in 64-bit floats.

## What it finds
Kernels that work on `double` tensors: usually a NumPy array or a Python number that became one by accident.

## Why it costs time
Data-centre cards compute 64-bit floats at half the speed of 32-bit ones, consumer cards at 1/32 or less, tensor cores hardly at
all, and every tensor is twice as large.

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
2. Find the op: record with `record_shapes=True`, or raise on double tensors in a forward hook.

## Expected gain
Half of these kernels' time, times the share of the step in which the device is busy; far more on consumer cards.

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
from analyzer.units import share
from rules.evidence import kernel_saving, kernel_table, steps_with
from traces.trace import Capability

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
    how = "input types" if by_types else "kernel names"
    yield Finding(
        why=f"{share(ratio)} of the device's busy time is in kernels on 64-bit floats, by {how}.",
        saving=kernel_saving(
            facts,
            kernels.time_ns(rows),
            "all of these kernels' time; half of it goes on data-centre cards, nearly all on others",
            of=((rows, 1.0),),
            usual_ns=_GAIN_RATIO * kernels.time_ns(rows),
        ),
        fix=(
            Advice(
                "diff",
                "-x = torch.from_numpy(array)\n+x = torch.from_numpy(array.astype('float32'))",
                "NumPy's default is 64 bits; Python floats in torch.tensor(...) are not the cause.",
            ),
        ),
        verify="Record again with record_shapes=True: no op should have an input of type `double`.",
        steps_seen=steps_with(facts, rows),
        confidence=Confidence.HIGH if by_types else Confidence.MEDIUM,
        evidence=(kernel_table(facts, rows, "longest 64-bit kernels"),),
        caveats=("Intended where results need more than seven digits.",),
    )


RULE = Rule(META, check, __doc__)
