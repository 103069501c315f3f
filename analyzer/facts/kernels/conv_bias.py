"""Convolutions whose bias a batch normalisation takes away again."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick, pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.precision import tensor_dims
from analyzer.spans.arrays import BoolArray
from analyzer.spans.labels import matching
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern

_CONV = Pattern(r"aten::conv[123]d$")
_NORM = Pattern(r"aten::batch_norm$")
# Position of the bias among a convolution's arguments.
_BIAS = 2


class ConvBias(msgspec.Struct, frozen=True):
    """Convolutions followed by a batch normalisation, over the whole trace.

    Args:
        pairs: Convolutions directly followed by a batch normalisation.
        biased: Those with a bias.
        rows: Kernels of the used steps that only add the bias or sum up its gradient; shape (kernels,).
    """

    pairs: int
    biased: int
    rows: BoolArray


def conv_bias(host: HostFacts, kernels: Kernels) -> ConvBias:
    """Finds pairs by the order of outermost ops on each thread, and the kernels the bias costs."""
    tree, found = host.ops, kernels
    ops = tree.ops
    conv = tree.named(lambda name: _CONV.match(name) is not None)
    norm = tree.named(lambda name: _NORM.match(name) is not None)
    if not conv.any() or not norm.any():
        return ConvBias(pairs=0, biased=0, rows=np.zeros(len(found.frame), dtype=bool))
    # A batch normalisation counts its batches before it works: an addition to a number, between the two.
    counting = tree.named(lambda name: name in ("aten::add_", "aten::add"))
    counting &= matching(ops["input_dims"], lambda dims: tensor_dims(dims)[:1] == [[]])
    outer = np.flatnonzero(tree.outermost(np.ones(len(ops), dtype=np.bool_)) & ~counting)
    order = outer[np.lexsort((ops["start_ns"].to_numpy()[outer], ops["thread"].to_numpy()[outer]))]
    thread = ops["thread"].to_numpy()[order]
    # Nothing else stands between the two: an activation would keep the bias from cancelling.
    followed = np.zeros(len(ops), dtype=bool)
    followed[order[:-1][conv[order[:-1]] & norm[order[1:]] & (thread[1:] == thread[:-1])]] = True
    biased = followed & matching(ops["input_dims"], _has_bias)
    inside = pick_row(tree.nearest(biased), found.frame["op"].to_numpy())
    forward = (inside != NONE) & found.is_family("elementwise")
    backward = _bias_gradients(host, kernels) if biased.any() else np.zeros(len(found.frame), dtype=bool)
    return ConvBias(pairs=int(followed.sum()), biased=int(biased.sum()), rows=forward | backward)


def _bias_gradients(host: HostFacts, kernels: Kernels) -> BoolArray:
    """Sums inside a convolution's backward pass: the gradient of its bias."""
    tree, found = host.ops, kernels
    backward = tree.nearest(tree.named(lambda name: name == "aten::convolution_backward")) != NONE
    total = tree.named(lambda name: name == "aten::sum")
    at = found.frame["op"].to_numpy()
    return pick(backward & total, at) & found.is_family("reduce")


def _has_bias(dims: str) -> bool:
    shapes = tensor_dims(dims)
    return len(shapes) > _BIAS and len(shapes[_BIAS]) == 1
