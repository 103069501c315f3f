"""KE002 layout-transposes: tensors change their memory format around every convolution.

## What it finds
Kernels of cuDNN or MIOpen that only reorder a tensor between channels-first (NCHW) and channels-last (NHWC).

## Why it costs time
Convolutions on tensor cores want the channels of a pixel side by side. PyTorch keeps them apart by default, so the library
reorders the input before each convolution and the result after it.

## How it is measured
`|layout kernels| / |device busy|`: `nchwToNhwc`, `nhwcToNchw`, `convertTensor_kernel` and `genericTranspose_kernel` (cuDNN),
`batched_transpose_*` and `transpose_*NCHW*` (MIOpen). Where strides were recorded (torch 2.4 and later) they tell whether inputs
and weights of the convolutions lie with their channels last already.

## Example
Slow:

```python
model = torchvision.models.resnet50().cuda()
output = model(images)
```

Faster:

```python
model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
output = model(images.to(memory_format=torch.channels_last))
```

## Fix
1. `memory_format=torch.channels_last` for the model and for its input. On ROCm start the program with
   `PYTORCH_MIOPEN_SUGGEST_NHWC=1`: without it torch hands channels-first tensors to MIOpen whatever the model's format is.
2. Not where instance norms run: torch has no channels-last kernel for them, each converts there and back (24 % slower in issue
   59168 of pytorch). Then keep channels-first.
3. Look for `.contiguous()`, `.view()` or custom ops inside the model that fall back to channels-first.

## Expected gain
At most these kernels' time, times the share of the step in which the device is busy. The convolutions themselves often become
faster too; that is not counted.

## When it is wrong
Reorderings of weights remain. Layers without a channels-last kernel would reorder in the other direction.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.

## References
- https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Figure, Finding, Outcome, clear, not_applicable
from analyzer.hardware.layouts import ConvolutionLayouts, of_convolutions
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.changes import channels_last
from rules.evidence import kernel_saving, kernel_table, steps_with
from traces.trace import Capability

META = RuleMeta(
    code="KE002",
    name="layout-transposes",
    family="kernels",
    title="Transposes around convolutions",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "min_busy_ratio", 0.02, "ratio", "measured: 5.5 and 9.3 % where channels-last was missing, 0.2 % elsewhere"
        ),
    ),
    references=("https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",),
    outside=("channels-last",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when layout kernels own `min_busy_ratio` of the busy time."""
    found = facts.kernels.named
    rows = found.is_family("layout")
    if not (rows | found.is_family("conv") | facts.kernels.matrix_work.convolution).any():
        yield not_applicable("no convolution in the used steps")
        return
    ratio = found.busy_ratio(rows)
    if ratio < limits["min_busy_ratio"]:
        yield clear(
            f"reordering tensors for convolutions is {share(ratio)} of the busy time, below {share(limits['min_busy_ratio'])}"
        )
        return
    layouts = of_convolutions(facts)
    per_step = duration(facts.steps.per_step(found.time_ns(rows)))
    yield Finding(
        why=f"The GPU spends {per_step} of {facts.steps.each} ({share(ratio)} of its busy time) reordering tensors between "
        f"channels-first and channels-last around convolutions.{_lie(layouts)}",
        saving=kernel_saving(
            facts,
            found.time_ns(rows),
            "these kernels' time; faster convolutions come on top",
            of=((rows, 1.0),),
            kind=Figure.ESTIMATE,
        ),
        fix=(_channels_first(), channels_last(facts)) if facts.kernels.instance_norms else _fix(facts, layouts),
        verify="Record again: kernels named `nchwToNhwc`, `nhwcToNchw` or `batched_transpose` should be gone, but for weights.",
        steps_seen=steps_with(facts, rows),
        evidence=(kernel_table(facts, rows, "longest layout kernels"),),
        caveats=(_BOTH_WAYS,) if facts.kernels.instance_norms else (),
    )


def _lie(layouts: ConvolutionLayouts | None) -> str:
    """How inputs and weights lie, as a sentence; empty where no strides tell."""
    if layouts is None:
        return ""
    inputs, weights = share(layouts.inputs_ratio), share(layouts.weights_ratio)
    return f" Of the convolutions {inputs} get their input with channels last, and {weights} their weights."


def _fix(facts: Facts, layouts: ConvolutionLayouts | None) -> tuple[Advice, ...]:
    """Channels last for what does not lie so yet; ROCm's switch is missing where all does."""
    if layouts is None or facts.device.kind == "rocm" or max(layouts.inputs_ratio, layouts.weights_ratio) < _MOST:
        return (channels_last(facts),)
    if layouts.inputs_ratio < _MOST:
        return (_LOST,)
    if layouts.weights_ratio < _MOST:
        return (_OF_WEIGHTS,)
    return (_ELSEWHERE,)


_MOST = 0.5
_LOST = Advice(
    "diff",
    " for images, labels in loader:\n+    images = images.to(memory_format=torch.channels_last)\n     output = model(images)",
    "The weights lie with channels last already, most inputs do not: the images are not converted, or an op in between gives back "
    "channels first (`view`, `permute(...).contiguous()`, an op without a channels-last kernel).",
)
_OF_WEIGHTS = Advice(
    "python",
    "model = model.to(memory_format=torch.channels_last)",
    "The inputs lie with channels last already, the weights do not: each call converts them.",
)
_ELSEWHERE = Advice(
    "text",
    "Inputs and weights lie with channels last already: look in the table for which kernels convert, and whether those of the "
    "backward pass do, where the gradient comes in another order (a loss or a head on channels first).",
)


def _channels_first() -> Advice:
    return Advice(
        "diff",
        "-model = model.to(memory_format=torch.channels_last_3d)\n-images = images.to(memory_format=torch.channels_last_3d)\n"
        "+model = model.to(memory_format=torch.contiguous_format)",
        "Where the model is in channels_last or channels_last_3d: instance norms convert around each of them. Measure both.",
    )


_BOTH_WAYS = (
    "Instance norms run here, for which torch has no channels-last kernel: with channels_last each converts its input, and the "
    "next convolution converts it back."
)

RULE = Rule(META, check, __doc__)
