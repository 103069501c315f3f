"""The op that most of what is in no pass of a trained model is: what it may be, and whether it can be computed once."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.units import share
from analyzer.verdict.shares import NAME_LENGTH, STANDS_OUT, WORTH_TELLING_APART
from traces.patterns import Pattern

# On the CPU, what computes layers and little else: products of two tensors may be a metric's.
_OF_LAYERS = Pattern(
    r"aten::(?:mkldnn_convolution|_?slow_conv\w*|thnn_conv2d|addmm|native_layer_norm|\w+attention\w*)$"
)
# What else multiplies, solves or compares whole tensors: a metric's, or what is made anew of inputs that stay.
_OF_TENSORS = Pattern(
    r"aten::(?:b?mm|_?cdist\w*|_euclidean_dist|_?linalg_\w+|_fft_\w+|cholesky\w*|inverse|_?sparse\w*mm)$"
)
_KEPT = (
    (
        _OF_LAYERS,
        " Layers run there that no gradient passes, as of a frozen model or a teacher: where its inputs are the same each epoch, "
        "what it gives can be computed once and kept.",
    ),
    (_OF_TENSORS, " Where what it takes is the same in each step, as a graph's matrix, compute that once."),
)


def outside_passes(facts: Facts) -> str:
    """The op that takes a third of what is in no pass of a model that is trained and in no update, where that is a good part."""
    outside = facts.model.outside_passes & facts.time.waterfall.owned("compute")
    longest = facts.model.longest_outside
    if longest is None or facts.steps.ratio(outside.total_ns) < WORTH_TELLING_APART:
        return ""
    ratio = longest.ns / outside.total_ns
    if ratio < STANDS_OUT:
        return ""
    said = f"Of the ops behind the update `{longest.name[:NAME_LENGTH]}` takes {share(min(ratio, 1.0))}."
    return said + next((kept for ops, kept in _KEPT if ops.match(longest.name)), "")
