"""Bytes of ops without products: passes over memory. Their FLOPs count as 0, as in `torch.utils.flop_counter`."""

from __future__ import annotations

import math

from analyzer.hardware.call import Call, Formula, Shape, UnknownWorkError, Work, filled, total


def _broadcast(shapes: list[Shape]) -> Shape:
    """The shape that all of these stretch to."""
    if len(set(shapes)) == 1:
        return shapes[0]
    result: list[int] = []
    for place in range(1, max(map(len, shapes)) + 1):
        sizes = {shape[-place] for shape in shapes if len(shape) >= place} - {1}
        if len(sizes) > 1:
            raise UnknownWorkError("the inputs do not stretch to one shape")
        result.insert(0, sizes.pop() if sizes else 1)
    return tuple(result)


def _pointwise(inputs: int, *, result_bytes: int | None = None) -> Formula:
    """Reads up to so many tensors, writes one of the shape they stretch to.

    Args:
        inputs: Arguments that may be tensors, from the first.
        result_bytes: Bytes of an element of the result; None where it is of the widest type read.
    """

    def formula(call: Call) -> Work:
        places = [place for place in range(min(inputs, len(call.shapes))) if call.shapes[place]]
        if not places:
            raise UnknownWorkError("no input has a recorded shape")
        widths = [call.element_bytes(place) for place in places]
        if None in widths:
            return Work(0, None)
        width = result_bytes or max(one for one in widths if one is not None)
        result = math.prod(_broadcast([call.shapes[place] for place in places])) * width
        return Work(0, total(*(call.size_bytes(place) for place in places), result))

    return formula


def _copy(call: Call) -> Work:
    """`copy_`: (to, from)."""
    target, source = call.tensor(0), call.tensor(1)
    if _broadcast([target, source]) != target:
        raise UnknownWorkError("source and target do not fit")
    return Work(0, total(call.size_bytes(0), call.size_bytes(1)))


def _fill(call: Call) -> Work:
    call.tensor(0)
    return Work(0, call.size_bytes(0))


def _reduction(call: Call) -> Work:
    """The input; what is left of it is smaller by what was summed up, and which dimensions those are is not recorded."""
    call.tensor(0)
    return Work(0, call.size_bytes(0))


def _norm(inputs: int) -> Formula:
    """Reads tensors and writes one as large as the first; statistics of a row or channel are left out."""

    def formula(call: Call) -> Work:
        shape = call.tensor(0)
        return Work(0, total(*(call.size_bytes(place) for place in range(inputs)), filled(call, shape, 0)))

    return formula


def _embedding(call: Call) -> Work:
    """(weight, indices): the rows looked up are read and written."""
    rows = (*call.tensor(1), call.tensor(0, 2)[1])
    once = filled(call, rows, 0)
    return Work(0, total(call.size_bytes(1), once, once))


def _concatenation(call: Call) -> Work:
    """A list of tensors: read and written. Their type is not recorded."""
    if not call.parts.get(0):
        raise UnknownWorkError("the shapes of the list are not recorded")
    return Work(0, None)


_ONE = ("relu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "neg", "abs", "gelu", "silu", "clamp", "pow", "reciprocal",
        "sin", "cos", "erf", "hardtanh", "clamp_min", "leaky_relu", "elu", "mish", "hardswish", "softplus")  # fmt: skip
_TWO = ("add", "sub", "mul", "div", "rsub", "maximum", "minimum", "threshold_backward", "gelu_backward", "silu_backward",
        "sigmoid_backward", "tanh_backward", "bitwise_and", "bitwise_or", "remainder", "masked_fill")  # fmt: skip
_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or", "isnan", "isinf")
_REDUCED = ("sum", "mean", "amax", "amin", "max", "min", "var", "std", "norm", "linalg_vector_norm", "argmax", "argmin", "all",
            "any", "var_mean", "prod", "logsumexp")  # fmt: skip

FORMULAS: dict[str, Formula] = {
    **{f"aten::{name}{mark}": _pointwise(1) for name in _ONE for mark in ("", "_")},
    **{f"aten::{name}{mark}": _pointwise(2) for name in _TWO for mark in ("", "_")},
    **{f"aten::{name}": _pointwise(2, result_bytes=1) for name in _COMPARED},
    **{f"aten::{name}": _reduction for name in _REDUCED},
    "aten::addcmul": _pointwise(3), "aten::addcmul_": _pointwise(3),
    "aten::addcdiv": _pointwise(3), "aten::addcdiv_": _pointwise(3),
    "aten::where": _pointwise(3), "aten::lerp": _pointwise(3), "aten::lerp_": _pointwise(3),
    "aten::copy_": _copy, "aten::fill_": _fill, "aten::zero_": _fill, "aten::cat": _concatenation,
    "aten::_softmax": _norm(1), "aten::_log_softmax": _norm(1),
    "aten::_softmax_backward_data": _norm(2), "aten::_log_softmax_backward_data": _norm(2),
    "aten::native_layer_norm": _norm(1), "aten::native_layer_norm_backward": _norm(2),
    "aten::native_group_norm": _norm(1), "aten::native_group_norm_backward": _norm(2),
    "aten::native_batch_norm": _norm(1), "aten::native_batch_norm_backward": _norm(2),
    "aten::cudnn_batch_norm": _norm(1), "aten::cudnn_batch_norm_backward": _norm(2),
    "aten::miopen_batch_norm": _norm(1), "aten::miopen_batch_norm_backward": _norm(2),
    "aten::_fused_rms_norm": _norm(1), "aten::_fused_rms_norm_backward": _norm(2),
    "aten::embedding": _embedding,
}  # fmt: skip
