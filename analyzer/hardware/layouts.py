"""In which order tensors lie in memory, as recorded strides tell: torch 2.4 and later write them beside shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from analyzer.facts import Facts
from analyzer.hardware.call import Shape
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import distinct_columns
from analyzer.spans.labels import codes_of, distinct_texts, is_any

Layout = Literal["row by row", "channels last", "permuted", "with gaps", "expanded"]

_LISTS = msgspec.json.Decoder(list[object])
# Dimensions of a batch of images and of one of volumes with their channels last, the outermost first.
_CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
_FORWARD = ("aten::convolution", "aten::cudnn_convolution", "aten::miopen_convolution")


def layout_of(shape: Shape, strides: Shape) -> Layout | None:
    """How a tensor lies in memory; None where it fits several orders, or its strides are not known."""
    sides = [
        (stride, -place, size) for place, (size, stride) in enumerate(zip(shape, strides, strict=False)) if size > 1
    ]
    if len(strides) != len(shape) or len(sides) < 2:
        return None
    if any(stride == 0 for stride, _, _ in sides):
        return "expanded"
    order = sorted(sides, reverse=True)
    step = 1
    for stride, _, size in reversed(order):
        if stride != step:
            return "with gaps"
        step *= size
    places = tuple(-place for _, place, _ in order)
    last = tuple(place for place in _CHANNELS_LAST.get(len(shape), ()) if shape[place] > 1)
    if places == tuple(sorted(places)):
        return "row by row"
    return "channels last" if places == last else "permuted"


def layouts_of(dims: str, strides: str) -> tuple[Layout | None, ...]:
    """The layout of each tensor among the inputs of a call, by the recorded texts."""
    return tuple(
        layout_of(shape, stride) for shape, stride in zip(_shapes(dims), _shapes(strides), strict=False) if len(shape)
    )


def of_longest(facts: Facts, rows: Int64Array, weight: Int64Array) -> tuple[Layout | None, ...]:
    """How the inputs of some ops lie, by those that most of a weight belongs to; empty where no strides are recorded.

    Args:
        facts: The measurements.
        rows: Rows of `trace.ops`.
        weight: Of each.
    """
    found = _weighed(facts, rows, weight)
    return layouts_of(*max(found, key=lambda one: one[2])[:2]) if found else ()


def _weighed(facts: Facts, rows: Int64Array, weight: Int64Array) -> list[tuple[str, str, float]]:
    """The distinct shapes and strides of some ops as recorded, with how much of a weight belongs to each."""
    columns = [facts.trace.ops[name] for name in ("input_dims", "input_strides")]
    codes = np.stack([codes_of(column).astype(np.int64)[rows] for column in columns])
    known = codes[1] >= 0
    distinct, place = distinct_columns(codes[:, known])
    totals = np.bincount(place, weight[known], distinct.shape[1]).tolist()
    texts = [[*distinct_texts(column), ""] for column in columns]
    return [
        (str(texts[0][dims]), str(texts[1][strides]), total)
        for (dims, strides), total in zip(distinct.T.tolist(), totals, strict=True)
    ]


class ConvolutionLayouts(msgspec.Struct, frozen=True):
    """How the inputs and the weights of convolutions lie.

    Args:
        inputs_ratio: Share of the calls whose input lies with its channels last, 0..1.
        weights_ratio: The same of weights.
    """

    inputs_ratio: float
    weights_ratio: float


def of_convolutions(facts: Facts) -> ConvolutionLayouts | None:
    """Of the convolutions of the used steps; None where strides of none are recorded, or fit several orders."""
    ops = facts.trace.ops
    here = is_any(ops["name"], *_FORWARD) & facts.steps.host_window.contains(ops["start_ns"].to_numpy())
    rows = np.flatnonzero(here)
    kinds = [
        (layouts_of(dims, strides)[:2], calls) for dims, strides, calls in _weighed(facts, rows, np.ones_like(rows))
    ]
    ratios = [
        [(pair[place], calls) for pair, calls in kinds if len(pair) == 2 and pair[place] is not None]
        for place in (0, 1)
    ]
    if not all(ratios):
        return None
    return ConvolutionLayouts(*map(_last_ratio, ratios))


def _last_ratio(kinds: Sequence[tuple[Layout | None, float]]) -> float:
    return sum(calls for kind, calls in kinds if kind == "channels last") / sum(calls for _, calls in kinds)


def _shapes(text: str) -> list[Shape]:
    """Of each argument; empty for what is no tensor."""
    try:
        found = _LISTS.decode(text)
    except msgspec.DecodeError:
        return []
    return [tuple(one) if isinstance(one, list) and all(type(item) is int for item in one) else () for one in found]
