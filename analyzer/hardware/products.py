"""Work of matrix products and convolutions; the arithmetic of `torch.utils.flop_counter`, on recorded shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from analyzer.hardware.call import Call, Formula, Shape, UnknownWorkError, Work, filled, total


def _product(left: int, *, batched: bool, added: bool = False) -> Formula:
    """`mm` and its kin: [.., m, k] x [.., k, n].

    Args:
        left: Place of the left factor.
        batched: Whether both have a batch dimension.
        added: Whether the argument before the left factor is added.
    """
    dims = 3 if batched else 2

    def formula(call: Call) -> Work:
        first, second = call.tensor(left, dims), call.tensor(left + 1, dims)
        if first[-1] != second[-2] or first[:-2] != second[:-2]:
            raise UnknownWorkError("the factors do not fit")
        result = (*first[:-1], second[-1])
        before = call.size_bytes(left - 1) if added else 0
        moved = total(call.size_bytes(left), call.size_bytes(left + 1), before, filled(call, result, left))
        return Work(2 * math.prod(result) * first[-1], moved)

    return formula


def _by_vector(left: int, *, added: bool = False) -> Formula:
    """`mv` and its kin: [m, k] x [k]; torch's counter leaves them out.

    Args:
        left: Place of the matrix.
        added: Whether the argument before it is added.
    """

    def formula(call: Call) -> Work:
        matrix, vector = call.tensor(left, 2), call.tensor(left + 1, 1)
        if matrix[1] != vector[0]:
            raise UnknownWorkError("the factors do not fit")
        before = call.size_bytes(left - 1) if added else 0
        moved = total(call.size_bytes(left), call.size_bytes(left + 1), before, filled(call, matrix[:1], left))
        return Work(2 * math.prod(matrix), moved)

    return formula


def _inner_product(call: Call) -> Work:
    """`dot`: two vectors; one number is written."""
    first, second = call.tensor(0, 1), call.tensor(1, 1)
    if first != second:
        raise UnknownWorkError("the factors do not fit")
    return Work(2 * first[0], total(call.size_bytes(0), call.size_bytes(1)))


def _scaled_product(call: Call) -> Work:
    """`_scaled_mm`: the result is of 16 bits, unless stated otherwise."""
    first, second = call.tensor(0, 2), call.tensor(1, 2)
    if first[1] != second[0]:
        raise UnknownWorkError("the factors do not fit")
    # The type of the result is an argument that is not recorded: 16 bits is what all callers in torch ask for.
    moved = total(call.size_bytes(0), call.size_bytes(1), 2 * first[0] * second[1])
    # An element of these holds two numbers of 4 bits, along what is summed over; torch's counter takes them for one.
    packed = 2 if call.types and call.types[0].endswith("_x2") else 1
    return Work(2 * first[0] * packed * first[1] * second[1], moved)


def _grouped_product(call: Call) -> Work:
    """`_grouped_mm`: (left, right, ends of groups): one product for each group, of rows, of columns, or of what is summed over.

    Where the groups end is not recorded: all rows count, as if the groups filled them.
    """
    left, right = call.tensor(0), call.tensor(1)
    dims = (len(left), len(right))
    if not set(dims) <= {2, 3} or left[-1] != right[-2] or (dims == (3, 3) and left[0] != right[0]):
        raise UnknownWorkError("the factors do not fit")
    rows, depth, columns = left[-2], left[-1], right[-1]
    # A row (of 2 and 3 dimensions) or a column (of 3 and 2) belongs to one group; what is summed over (of 2 and 2) does, too.
    groups = {(3, 3): left[0], (2, 2): call.tensor(2, 1)[0] if dims == (2, 2) else 1}.get(dims, 1)
    flops = 2 * rows * depth * columns * (groups if dims == (3, 3) else 1)
    moved = total(call.size_bytes(0), call.size_bytes(1), filled(call, (groups, rows, columns), 0))
    return Work(flops, moved)


def _one_convolution(data: Shape, weight: Shape, result: Shape, *, transposed: bool) -> int:
    """FLOPs of one convolution; `weight` is [out, in / groups, ..], so that groups are counted."""
    places = data[2:] if transposed else result[2:]
    return 2 * math.prod(places) * math.prod(weight) * data[0]


def _batched(data: Shape, weight: Shape) -> Shape:
    """The input with its batch dimension, which may be left out."""
    found = (1, *data) if len(data) == len(weight) - 1 else data
    if len(found) != len(weight) or len(weight) < 3:
        raise UnknownWorkError("input and weight do not fit")
    return found


def _convolution(call: Call) -> Work:
    """`convolution`: (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, ..)."""
    weight = call.tensor(1)
    data = _batched(call.tensor(0), weight)
    space = len(weight) - 2
    transposed = call.value(6)
    if not isinstance(transposed, bool):
        raise UnknownWorkError("whether the convolution is transposed is not recorded")
    stride, padding, dilation = (call.integers(place, space) for place in (3, 4, 5))
    if transposed:
        more, groups = call.integers(7, space), call.integers(8, 1)[0]
        sizes = _sizes(
            (size - 1) * s - 2 * p + d * (kernel - 1) + o + 1
            for size, s, p, d, kernel, o in zip(data[2:], stride, padding, dilation, weight[2:], more, strict=True)
        )
        result = (data[0], weight[1] * groups, *sizes)
    else:
        result = (data[0], weight[0], *_output_sizes(data, weight, stride, padding, dilation))
    return _forward_work(call, data, weight, result, transposed=transposed, dilation=dilation)


def _library_convolution(padding: int, stride: int, dilation: int | None) -> Formula:
    """A convolution of a library, never transposed, by the places of its arguments; without a place for dilation it has none."""

    def formula(call: Call) -> Work:
        weight = call.tensor(1)
        data = _batched(call.tensor(0), weight)
        space = len(weight) - 2
        strides, paddings = call.integers(stride, space), call.integers(padding, space)
        dilations = call.integers(dilation, space) if dilation is not None else (1,) * space
        result = (data[0], weight[0], *_output_sizes(data, weight, strides, paddings, dilations))
        return _forward_work(call, data, weight, result, transposed=False, dilation=dilations)

    return formula


def _output_sizes(data: Shape, weight: Shape, stride: Shape, padding: Shape, dilation: Shape) -> list[int]:
    if min(*stride, *dilation) < 1:
        raise UnknownWorkError("a stride or a dilation is below 1")
    return _sizes(
        (size + 2 * p - d * (kernel - 1) - 1) // s + 1
        for size, s, p, d, kernel in zip(data[2:], stride, padding, dilation, weight[2:], strict=True)
    )


def _sizes(found: Iterable[int]) -> list[int]:
    sizes = list(found)
    if min(sizes) < 0:
        raise UnknownWorkError("the result would have less than no places")
    return sizes


def _forward_work(call: Call, data: Shape, weight: Shape, result: Shape, *, transposed: bool, dilation: Shape) -> Work:
    moved = total(call.size_bytes(0), call.size_bytes(1), call.size_bytes(2), filled(call, result, 0))
    return Work(_one_convolution(data, weight, result, transposed=transposed), moved, dilation=max(dilation))


def _convolution_backward(transposing: int, mask: int) -> Formula:
    """(grad_output, input, weight, ..): both gradients; that of the bias is no product.

    Args:
        transposing: Place of `transposed`.
        mask: Place of the flags that say which gradients are wanted.
    """

    def formula(call: Call) -> Work:
        weight = call.tensor(2)
        gradient, data = (_batched(call.tensor(place), weight) for place in (0, 1))
        transposed, wanted = call.value(transposing), call.flags(mask)
        if not isinstance(transposed, bool) or len(wanted) != 3:
            raise UnknownWorkError("which gradients are wanted is not recorded")
        # Each of the two gradients takes a product for each that the convolution itself takes, groups or not.
        flops = _one_convolution(data, weight, gradient, transposed=transposed) * (wanted[0] + wanted[1])
        written = total(call.size_bytes(1) if wanted[0] else 0, call.size_bytes(2) if wanted[1] else 0)
        read = total(call.size_bytes(0), call.size_bytes(1) if wanted[1] else 0, call.size_bytes(2) if wanted[0] else 0)
        return Work(flops, total(read, written))

    return formula


def _input_gradient(call: Call) -> Work:
    """(input_size, grad_output, weight, ..), as libraries had it before torch 1.11: what is written is recorded by no shape."""
    weight = call.tensor(2)
    gradient = _batched(call.tensor(1), weight)
    return Work(_one_convolution(gradient, weight, gradient, transposed=False), None)


def _weight_gradient(call: Call) -> Work:
    """(weight_size, grad_output, input, ..), likewise; the size of the weight is a value."""
    data = call.tensor(2)
    weight = call.integers(0, len(data))
    gradient = _batched(call.tensor(1), weight)
    return Work(_one_convolution(data, weight, gradient, transposed=False), None)


FORMULAS: dict[str, Formula] = {
    "aten::mm": _product(0, batched=False),
    "aten::bmm": _product(0, batched=True),
    "aten::addmm": _product(1, batched=False, added=True),
    "aten::baddbmm": _product(1, batched=True, added=True),
    "aten::addmm_": _product(1, batched=False, added=True),
    "aten::baddbmm_": _product(1, batched=True, added=True),
    "aten::_addmm_activation": _product(1, batched=False, added=True),
    "aten::mv": _by_vector(0),
    "aten::addmv": _by_vector(1, added=True),
    "aten::addmv_": _by_vector(1, added=True),
    "aten::dot": _inner_product,
    "aten::vdot": _inner_product,
    "aten::_grouped_mm": _grouped_product,
    "aten::_scaled_mm": _scaled_product,
    "aten::convolution": _convolution,
    "aten::_convolution": _convolution,
    "aten::convolution_overrideable": _convolution,
    "aten::convolution_backward": _convolution_backward(7, 10),
    "aten::convolution_backward_overrideable": _convolution_backward(6, 9),
    "aten::cudnn_convolution": _library_convolution(2, 3, 4),
    "aten::mkldnn_convolution": _library_convolution(3, 4, 5),
    "aten::miopen_convolution": _library_convolution(3, 4, 5),
    "aten::miopen_depthwise_convolution": _library_convolution(3, 4, 5),
    "aten::cudnn_convolution_relu": _library_convolution(4, 3, 5),
    "aten::miopen_convolution_relu": _library_convolution(4, 3, 5),
    **{f"aten::{library}_convolution_backward_input": _input_gradient for library in ("cudnn", "miopen", "mkldnn")},
    "aten::miopen_depthwise_convolution_backward_input": _input_gradient,
    "aten::cudnn_convolution_backward_weight": _weight_gradient,
    "aten::miopen_convolution_backward_weight": _weight_gradient,
    "aten::miopen_depthwise_convolution_backward_weight": _weight_gradient,
    "aten::mkldnn_convolution_backward_weights": _weight_gradient,
    "aten::_slow_conv2d_forward": _library_convolution(5, 4, None),
}
