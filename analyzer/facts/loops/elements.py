"""Elements of a tensor that go through the same layers one by one, as frames of a video whose encoder is called on each.

A turn that takes an element and hands it from op to op, none of which takes another activation, needs no other turn. An addition
takes two: in a residual block both are the turn's own, in a recurrence one is another turn's, and no trace tells them apart. That
its weights are those of all turns shows where fewer tensors receive a gradient than turns with layers of their own would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import msgspec
import numpy as np

from analyzer.facts.host.tree import HostTree
from analyzer.facts.kernels.precision import tensor_dims
from analyzer.facts.loops.loop import MIN_UNIT, Loop
from analyzer.facts.loops.products import PRODUCTS
from analyzer.facts.loops.samples import usual_leaf_ns
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, matching
from traces.patterns import Pattern
from traces.trace import Trace

_TAKES = ("aten::select", "aten::slice", "aten::narrow")
# Layers, each with a weight of its own.
_LAYER = Pattern(r"aten::(?:linear|conv[123]d|conv_transpose[123]d)$")
# What takes one activation: none of these can bring in what another turn has left.
_ALONE = Pattern(
    r"aten::(?:linear|conv[123]d|conv_transpose[123]d|(?:batch|layer|group|instance|rms)_norm|relu_?|gelu|silu_?|elu_?|leaky_relu_?"
    r"|hardtanh_?|hardswish_?|softplus|tanh_?|sigmoid_?|\w*dropout_?|max_pool[123]d|avg_pool[123]d|adaptive_(?:avg|max)_pool[123]d"
    r"|flatten|view|reshape|permute|transpose|contiguous|unsqueeze|squeeze|to|mean)$"
)
# A residual block ends with one.
_ADDS = ("aten::add", "aten::add_")
# What changes an activation's size: behind the last addition it leaves a turn with nothing that the next one could add.
_RESIZES = Pattern(r"aten::(?:linear|max_pool[123]d|avg_pool[123]d|adaptive_(?:avg|max)_pool[123]d|flatten|mean)$")
# Gates of recurrent cells.
_GATES = ("aten::tanh", "aten::tanh_", "aten::sigmoid", "aten::sigmoid_")
_CONVOLUTION = Pattern(r"aten::conv[123]d$")
# Before the first addition there is a layer whose result is added, and one beside which that goes.
_BEFORE_ADDING = 2
# The ops that compute a convolution, forward and backward, whatever is above them.
_CONVOLVES = Pattern(
    r"aten::(?:mkldnn_convolution|_slow_conv\w*|slow_conv\w*|thnn_conv2d|_conv_depthwise2d|conv_depthwise3d|cudnn_\w*conv\w*"
    r"|miopen_\w*conv\w*|convolution_backward)$"
)
# In training batch normalisation counts its batches directly before it normalises.
_COUNTS, _NORMALISES = "aten::add_", "aten::batch_norm"


class ElementLoop(msgspec.Struct, frozen=True):
    """One loop of that kind.

    Args:
        loop: The loop.
        shaped: Whether recorded shapes show that the first layer takes the element; False where none was recorded.
        normalises: Whether batch normalisation is among the layers.
        adds: Whether turns add two activations, as residual blocks do.
        products: When products and convolutions are computed in it, of which one call has as many to compute.
        usual_op_ns: Mean time of an op in the forward part that calls no other op, without those that took far longer.
    """

    loop: Loop
    shaped: bool
    normalises: bool
    adds: bool
    products: IntervalSet
    usual_op_ns: float


def element_loops(trace: Trace, tree: HostTree, loops: Sequence[Loop], trained: int) -> tuple[ElementLoop, ...]:
    """Those of the loops that send elements through layers one by one, longest first.

    Args:
        trace: The trace.
        tree: The host's spans.
        loops: All loops.
        trained: How many tensors receive a gradient in one backward pass; 0 where that does not show.
    """
    chains = [
        (loop, _takes_element(trace, loop)) for loop in loops if _is_chain(loop) and _shares_weights(loop, trained)
    ]
    found = [(loop, shaped is True) for loop, shaped in chains if shaped is not False]
    if not found:
        return ()
    computing = _computing(trace)
    return tuple(
        ElementLoop(
            loop,
            shaped,
            _NORMALISES in loop.unit,
            bool(_additions(loop.unit)),
            computing & loop.spans,
            usual_leaf_ns(tree, loop.forward),
        )
        for loop, shaped in found
    )


def _computing(trace: Trace) -> IntervalSet:
    """When products and convolutions are computed."""
    names = trace.ops["name"]
    return IntervalSet.of_rows(trace.ops[names.isin(PRODUCTS) | matching(names, _CONVOLVES.match)])


def _is_chain(loop: Loop) -> bool:
    """Whether a turn takes an element, and hands it through layers and what takes nothing beside it."""
    unit = loop.unit
    if (
        len(unit) < MIN_UNIT
        or not loop.of_layers
        or loop.varies
        or loop.steps_a_cell
        or loop.phase in ("after", "step")
    ):
        return False
    additions = _additions(unit)
    alone = all(
        _ALONE.match(name) is not None or place in additions or (name == _COUNTS and then == _NORMALISES)
        for place, (name, then) in enumerate(zip(unit[1:], (*unit[2:], ""), strict=True), 1)
    )
    blocks = not additions or _are_blocks(unit, additions)
    return unit[0] in _TAKES and alone and blocks and any(_LAYER.match(name) is not None for name in unit)


def _additions(unit: Sequence[str]) -> list[int]:
    """Places of the ops that add two activations; batch normalisation counts its batches by such an op as well."""
    return [
        place
        for place, (name, then) in enumerate(zip(unit, (*unit[1:], ""), strict=True))
        if name in _ADDS and not (name == _COUNTS and then == _NORMALISES)
    ]


def _are_blocks(unit: Sequence[str], additions: Sequence[int]) -> bool:
    """Whether additions stand where those of residual blocks do, in an encoder that ends with less than it adds."""
    layers = [place for place, name in enumerate(unit) if _LAYER.match(name) is not None]
    convolves = any(_CONVOLUTION.match(name) is not None for name in unit)
    if not convolves or any(name in _GATES for name in unit):
        return False
    if sum(place < additions[0] for place in layers) < _BEFORE_ADDING:
        return False
    if not all(any(first < place < then for place in layers) for first, then in pairwise(additions)):
        return False
    return any(_RESIZES.match(name) is not None for name in unit[additions[-1] + 1 :])


def _shares_weights(loop: Loop, trained: int) -> bool:
    """Whether layers of their own in each turn would give more tensors a gradient than receive one."""
    layers = sum(_LAYER.match(name) is not None for name in loop.unit)
    return bool(loop.backward) and 0 < trained * loop.runs < layers * loop.repeats


def _takes_element(trace: Trace, loop: Loop) -> bool | None:
    """Whether the first layer takes as many values as the element has; None where no shapes were recorded."""
    ops = trace.ops
    begin = int(loop.forward.start_ns[0])
    start = ops["start_ns"].to_numpy()
    rows = np.flatnonzero(
        (start >= begin) & (start < int(loop.forward.end_ns[0])) & (ops["thread"] == loop.thread).to_numpy()
    )
    rows = rows[np.argsort(start[rows], kind="stable")]
    names = ops["name"].take(rows).tolist()
    if loop.unit[0] not in names:
        return None
    first = names.index(loop.unit[0])
    layer = next((at for at in range(first, len(names)) if _LAYER.match(names[at]) is not None), None)
    if layer is None:
        return None
    whole, taken = (_shape(trace, int(rows[at])) for at in (first, layer))
    if not whole or not taken:
        return None
    return any(size > 1 and prod(taken) * size == prod(whole) for size in whole)


def shapes_of(trace: Trace, row: int) -> list[list[int]]:
    """The shapes of an op's arguments; none where they were not recorded.

    Args:
        trace: The trace.
        row: The op, in `trace.ops`.
    """
    dims = trace.ops["input_dims"]
    code = int(codes_of(dims)[row])
    return tensor_dims(distinct_texts(dims)[code]) if code >= 0 else []


def _shape(trace: Trace, row: int) -> list[int]:
    """The shape of an op's first argument; an empty one where it was not recorded."""
    shapes = shapes_of(trace, row)
    return shapes[0] if shapes else []
