"""GR006 conv-bias-before-norm: a convolution adds a bias that the batch normalisation behind it subtracts again.

## What it finds
`Conv2d` layers with a bias directly in front of a batch normalisation.

## Why it costs time
Batch normalisation subtracts the mean of each channel, and with it any constant. The bias changes nothing, yet it is added to
every pixel in the forward pass and its gradient is a sum over every pixel in the backward pass.

## How it is measured
From recorded shapes: ops `aten::conv1d` to `conv3d` whose third argument has a shape, directly followed on their thread by
`aten::batch_norm`. The bound is the time of elementwise kernels inside those convolutions and of the sums inside the backward
pass of convolutions.

## Example
Slow:

```python
layer = torch.nn.Sequential(torch.nn.Conv2d(64, 64, 3), torch.nn.BatchNorm2d(64))
```

Faster:

```python
layer = torch.nn.Sequential(torch.nn.Conv2d(64, 64, 3, bias=False), torch.nn.BatchNorm2d(64))
```

## Fix
1. `bias=False` for every convolution in front of a batch normalisation.

## Expected gain
At most the kernels that add the bias and sum up its gradient, times the share of the step in which the device is busy; often
little.

## When it is wrong
Normalisation with fixed statistics (evaluation, frozen layers) does use the bias. A checkpoint with biases has to be converted:
subtract the bias from `running_mean`.

## Thresholds
- `min_pairs`: pairs of a convolution with bias and a batch normalisation from which the rule fires.

## References
- torch `_pattern_matcher.py`, Conv2dBiasFollowedByBatchNorm2d
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration
from rules.evidence import kernel_saving, kernel_table, steps_with
from traces.trace import Capability

META = RuleMeta(
    code="GR006",
    name="conv-bias-before-norm",
    family="graph",
    title="Convolution bias before batch norm",
    needs=frozenset({Capability.DEVICE, Capability.HOST_OPS, Capability.SHAPES}),
    thresholds=(
        Threshold("min_pairs", 1, "count", "one such layer is a mistake; what it costs decides how much it matters"),
    ),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when a convolution with bias stands in front of a batch normalisation and the bias costs kernels."""
    found, kernels = facts.kernels.conv_bias, facts.kernels.named
    if not found.pairs:
        yield not_applicable("no convolution directly in front of a batch normalisation")
        return
    if found.biased < limits["min_pairs"]:
        yield clear(f"none of {found.pairs} convolutions in front of a batch normalisation has a bias")
        return
    if not found.rows.any():
        yield clear(
            f"{found.biased} convolutions have a bias in front of a batch normalisation, without a kernel of its own"
        )
        return
    time = kernels.time_ns(found.rows)
    yield Finding(
        why=f"{count(found.biased, 'convolution')} add a bias that a batch normalisation subtracts again; its kernels take "
        f"{duration(facts.steps.per_step(time))} {facts.steps.a_unit}.",
        saving=kernel_saving(facts, time, "kernels that add the bias or sum up its gradient", of=((found.rows, 1.0),)),
        fix=(
            Advice(
                "diff",
                "-torch.nn.Conv2d(cin, cout, 3)\n+torch.nn.Conv2d(cin, cout, 3, bias=False)",
                "Only in front of a batch normalisation; for an old checkpoint subtract the bias from running_mean.",
            ),
        ),
        verify="Record again with record_shapes=True: the third shape of these convolutions should be empty.",
        steps_seen=steps_with(facts, found.rows),
        confidence=Confidence.MEDIUM,
        evidence=(kernel_table(facts, found.rows, "kernels of the bias"),),
    )


RULE = Rule(META, check, __doc__)
