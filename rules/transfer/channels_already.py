"""Whether a program's convolutions compute with channels last already: then a copy beside them is not for want of that."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.hardware.layouts import of_convolutions
from traces.patterns import Pattern

_MOST = 0.5
# Kernels of cuDNN and CUTLASS that read and write channels last say so. Around one of a model with channels first others convert.
_LAST = Pattern(r"nhwckrsc_nhwc|_nhwc_(?:align|tilesize)")
_CONVERTING_RATIO = 0.01

AS_A_VIEW = Advice(
    "diff",
    "-x = norm(x.permute(0, 2, 3, 1).contiguous())\n-x = x.permute(0, 3, 1, 2).contiguous()\n"
    "+x = norm(x.permute(0, 2, 3, 1))       # of a tensor with channels last: a view, contiguous already\n"
    "+x = x.permute(0, 3, 1, 2)             # and back: channels last again",
    "The convolutions compute in `torch.channels_last` already. Look for what copies between them: `.contiguous()`, `.clone()`, "
    "`view` or `flatten` of another order, an op without a kernel for this format.",
)


def channels_already(facts: Facts) -> bool:
    """By strides where they were recorded; else by the names of the kernels, where next to none convert around them."""
    layouts = of_convolutions(facts)
    if layouts is not None:
        return min(layouts.inputs_ratio, layouts.weights_ratio) >= _MOST
    kernels = facts.kernels.named
    convolving = kernels.is_family("conv") | facts.kernels.matrix_work.convolution
    last = kernels.time_ns(convolving & kernels.like(_LAST))
    converted = kernels.busy_ratio(kernels.is_family("layout"))
    return last > _MOST * kernels.time_ns(convolving) and converted < _CONVERTING_RATIO
