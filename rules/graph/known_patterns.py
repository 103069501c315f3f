"""GR007 unfused-pattern: a piece of the model is written out op by op, and one fused operator does it.

## What it finds
RMSNorm and other normalisations, GELU, SwiGLU, rotary embeddings and the cross entropy of a large vocabulary as chains of single
ops, where their kernels take a noticeable part of the step.

## Why it costs time
Each op of such a chain reads and writes all of its data, often in 32 bits, and the backward pass does so again. A fused operator
makes the journey once, and keeps less for the backward pass.

## How it is measured
Ops that no other op calls, by their order: `pow, mean, add, rsqrt, mul`; `mean, sub, pow, mean, sub, add, sqrt,
div`; `mul, pow, mul, add, mul, tanh, add, mul`; `mul, div, erf, add, mul`; `silu, mul`; `mul, neg, cat, mul, add`;
`cross_entropy_loss`; conversions and views in between do not count. Their kernels, and those of the nodes that they left for the
backward pass, as a share of the step. Silent where a compiler is at work.

## Example
Slow:

```python
variance = x.pow(2).mean(-1, keepdim=True)
x = weight * (x * torch.rsqrt(variance + eps))
```

Faster:

```python
x = torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, eps)
```

## Fix
1. `torch.compile(model)`: fuses all of them.
2. By name: `torch.nn.functional.gelu` and `layer_norm`, one kernel each; `torch.nn.RMSNorm`, one kernel from torch 2.9 on where
   input and weight are of one type; kernels of Liger-Kernel, Apex or Transformer Engine for the others.
3. The loss of a large vocabulary: a fused linear cross entropy never writes the logits of all tokens down.

## Expected gain
At most the kernels' time; usually half of it, as of other fused chains.

## When it is wrong
A model that computes something else with the same ops in the same order. Fused kernels round differently: compare a few losses.
The thresholds are reasoned, not calibrated: no recording on a GPU has judged them.

## Thresholds
- `min_ratio`: share of the step from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html
- https://github.com/linkedin/Liger-Kernel
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.kernels.patterns import KernelPattern
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.changes import compiled, older_than
from rules.evidence import kernel_saving, kernel_table, steps_with
from traces.trace import Capability

# Pull request 153666 of pytorch; before it, and where types differ, `rms_norm` is the same chain of ops.
_RMS_NORM_SINCE = (2, 9)
_RMS_NORM = "x = torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, eps)"
# As of other fused chains (GR001).
_GAIN_RATIO = 0.5
_BY_NAME = {
    "GELU": 'x = torch.nn.functional.gelu(x, approximate="tanh")   # written by `erf`: without `approximate`',
    "normalisation": "x = torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias, eps)   # over the last axis\n"
    "# over the channels of images: x.permute(0, 2, 3, 1), and back behind it\n"
    "# over the images of a batch: batch_norm; over each image's own places: instance_norm or group_norm",
    "RMSNorm": "from liger_kernel.transformers import LigerRMSNorm",
    "SwiGLU": "from liger_kernel.transformers import LigerSwiGLUMLP",
    "rotary embedding": "from liger_kernel.transformers import liger_rotary_pos_emb\nq, k = liger_rotary_pos_emb(q, k, cos, sin)",
    "cross entropy": "from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss\n"
    "entropy = LigerFusedLinearCrossEntropyLoss()(head.weight, hidden, labels)",
}

META = RuleMeta(
    code="GR007",
    name="unfused-pattern",
    family="graph",
    title="Known pattern written out",
    needs=frozenset({Capability.DEVICE, Capability.HOST_OPS, Capability.LAUNCHES}),
    thresholds=(Threshold("min_ratio", 0.05, "ratio", "below, any rule would call it low"),),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html",),
    outside=("compile",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the known patterns together take `min_ratio` of the step."""
    found = facts.kernels.patterns
    if not found:
        yield not_applicable("none of the known patterns in the used steps")
        return
    if facts.kernels.fusion.compiled:
        yield clear("a compiler already fuses here")
        return
    kernels = facts.kernels.named
    times = {one.name: kernels.time_ns(one.kernels) for one in found}
    mine = kernels.none
    for one in found:
        mine = mine | one.kernels
    ratio = facts.steps.ratio(kernels.time_ns(mine))
    named = ", ".join(f"{one.name} {share(facts.steps.ratio(times[one.name]))}" for one in _longest(found, times))
    if ratio < limits["min_ratio"]:
        yield clear(f"known patterns take {share(ratio)} of the step ({named}), below {share(limits['min_ratio'])}")
        return
    first = _longest(found, times)[0]
    yield Finding(
        why=f"Written out op by op{'' if facts.model.infers else ', forward and backward'}: {named} of the step, "
        f"{duration(facts.steps.per_step(kernels.time_ns(mine)))} in all. One fused operator does each.",
        saving=kernel_saving(
            facts,
            kernels.time_ns(mine),
            "the time of these kernels, of which half usually goes",
            of=((mine, 1.0),),
            usual_ns=_GAIN_RATIO * kernels.time_ns(mine),
        ),
        fix=(
            compiled(facts, "Fuses all of them. Compiles in the first steps: keep those out of the recording."),
            _by_name(facts, first.name),
        ),
        verify=f"Record again: fewer kernels a step, and {'outputs' if facts.model.infers else 'the first losses'} as before.",
        steps_seen=steps_with(facts, mine),
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step",
                "ns",
                tuple(Bar(one.name, facts.steps.per_step(times[one.name])) for one in _longest(found, times)),
            ),
            kernel_table(facts, mine, "their kernels"),
        ),
        caveats=("The order of ops is what tells them: look at the code once.",),
    )


def _by_name(facts: Facts, name: str) -> Advice:
    note = f"By name: {name}, the longest."
    if name != "RMSNorm" or older_than(facts, _RMS_NORM_SINCE):
        return Advice("python", _BY_NAME[name], note)
    return Advice("python", _RMS_NORM, f"{note} One kernel from torch 2.9 on, where `x` and `weight` are of one type.")


def _longest(found: tuple[KernelPattern, ...], times: dict[str, int]) -> list[KernelPattern]:
    return sorted(found, key=lambda one: -times[one.name])


RULE = Rule(META, check, __doc__)
