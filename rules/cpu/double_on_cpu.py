"""CP004 double-on-cpu: the model multiplies 64-bit floats on the CPU.

## What it finds
CPU-only runs whose matrix products and convolutions work on `double` tensors: usually a NumPy array that became the input, and a
model that was turned to match it.

## Why it costs time
A vector register holds half as many 64-bit floats as 32-bit ones, and each moves twice the bytes.

## How it is measured
Time in matrix ops whose first tensor is `double` (`record_shapes=True`), on the step's thread, in calls of 10 us or more: of
shorter ones most is no arithmetic. Without shapes all of them count where each number that the optimizer updates has 8 bytes
(`advisor collect` tells), and none where each has 4: layers take inputs of their weights' type. The saving is half of it: the
ratio of the vector units' rates, and of the bytes. Unit: nanoseconds.

## Example
Slow:

```python
x = torch.from_numpy(numpy.random.rand(64, 1024))
model = model.double()
```

Faster:

```python
x = torch.from_numpy(numpy.random.rand(64, 1024).astype("float32"))
```

## Fix
1. Convert at the source: `astype("float32")`; drop `model.double()`.
2. `torch.set_default_dtype(torch.float64)` somewhere in the program has the same effect: remove it.

## Expected gain
About half of these ops' time; what else works on the same tensors gets faster as well and is not counted.

## When it is wrong
Code that needs 64 bits: gradient checks, solvers, long sums, some physics.

## Thresholds
- `min_ratio`: share of the used steps in 64-bit matrix work from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/tensor_attributes.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from traces.trace import Capability

META = RuleMeta(
    code="CP004",
    name="double-on-cpu",
    family="cpu",
    title="64-bit floats on the CPU",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold("min_ratio", 0.04, "ratio", "half of it is saved: below 2 % of the step a finding goes on no card"),
    ),
    references=("https://docs.pytorch.org/docs/stable/tensor_attributes.html",),
)

# A vector register holds half as many 64-bit floats, and half as many come with each byte.
_SAVED = 0.5
_BYTES = 8


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where matrix work on 64-bit floats takes `min_ratio` of the used steps."""
    if facts.device.main is not None or facts.device.unrecorded:
        yield not_applicable("the device computes, not the CPU")
        return
    work = facts.kernels.cpu_work
    if facts.steps.ratio(work.matrix.total_ns) < limits["min_ratio"]:
        yield clear(f"matrix work takes {share(facts.steps.ratio(work.matrix.total_ns))} of the step")
        return
    each = None if work.typed else facts.recording.number_bytes
    if each == _BYTES // 2:
        yield clear("each number that the optimizer updates has 4 bytes: layers multiply none of 64 bits")
        return
    if not work.typed and each != _BYTES:
        yield cannot_tell("needs record_shapes=True: the number format of the matrix work is not known")
        return
    double = work.double if work.typed else work.matrix
    ratio = facts.steps.ratio(double.total_ns)
    if ratio < limits["min_ratio"]:
        floor = share(limits["min_ratio"])
        yield clear(f"matrix work on 64-bit floats takes {share(ratio)} of the step, below {floor}")
        return
    told = "by input types" if work.typed else f"as each number that the optimizer updates has {_BYTES} bytes"
    yield Finding(
        why=f"Matrix work on 64-bit floats takes {duration(facts.steps.per_step(double.total_ns))} of "
        f"{facts.steps.each} ({share(ratio)}), {told}.",
        saving=Saving(
            double.scaled(_SAVED),
            basis="half of the 64-bit matrix work: 32-bit floats are computed at twice the rate and are half the bytes",
        ),
        fix=(
            Advice(
                "diff",
                "-x = torch.from_numpy(array)\n+x = torch.from_numpy(array.astype('float32'))\n-model = model.double()",
                "NumPy's default is 64 bits. `torch.set_default_dtype(torch.float64)` has the same effect.",
            ),
        ),
        verify="Record again with record_shapes=True: no matrix op should have an input of type `double`.",
        steps_seen=facts.steps.count_with(double),
        confidence=Confidence.MEDIUM,
        caveats=("Intended where results need more than seven digits.",),
    )


RULE = Rule(META, check, __doc__)
