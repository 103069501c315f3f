"""Work of fused attention in all its backends.

A causal mask leaves out up to half of it, which the reference does not take off: it is stated beside, where it is recorded.
"""

from __future__ import annotations

from analyzer.hardware.call import Call, Formula, Shape, UnknownWorkError, Work, filled, total


def _products(query: Shape, key: Shape, value: Shape, passes: tuple[int, int]) -> int:
    """FLOPs of products of scores, and of products of scores with values; heads of keys and values may serve several queries."""
    batch, heads, queries, width = query
    uneven = heads % key[1] if key[1] else heads
    if key[0] != batch or value[:3] != key[:3] or key[3] != width or uneven:
        raise UnknownWorkError("query, key and value do not fit")
    return 2 * batch * heads * queries * key[2] * (passes[0] * width + passes[1] * value[3])


def _swapped(shape: Shape) -> Shape:
    """[batch, sequence, heads, width] as [batch, heads, sequence, width]."""
    return (shape[0], shape[2], shape[1], shape[3])


def _refuse_packed(call: Call, lengths: int) -> None:
    """Packed sequences end where recorded tensors say, whose contents are not recorded."""
    if lengths < len(call.shapes) and call.shapes[lengths]:
        raise UnknownWorkError("the lengths of packed sequences are not recorded")


def _masked(call: Call, causal: int, flops: int, query: Shape, key: Shape) -> int:
    """FLOPs that a causal mask leaves out, whichever corner it begins in; 0 where none is recorded.

    Args:
        call: The call.
        causal: Place of the flag, or of the kind of mask, of which 0 is none.
        flops: Of all products.
        query: Its shape, heads before the sequence.
        key: Likewise.
    """
    try:
        stated = call.value(causal)
    except UnknownWorkError:
        return 0
    if stated is not True and not (type(stated) is int and stated in _CAUSAL_KINDS):
        return 0
    queries, keys = query[2], key[2]
    shorter, pairs = min(queries, keys), queries * keys
    # Begun in the corner that leaves out more: of equal lengths, as nearly all are, both are the same.
    return flops * (pairs - shorter * (shorter + 1) // 2) // pairs if pairs else 0


def _forward(causal: int, *, packed: int | None = None) -> Formula:
    """Two products.

    Args:
        causal: Place of what says that the mask is causal.
        packed: Place of the lengths of packed sequences, in ops that take the sequence before the heads.
    """

    def formula(call: Call) -> Work:
        shapes = [call.tensor(place, 4) for place in range(3)]
        if packed is not None:
            _refuse_packed(call, packed)
            shapes = [_swapped(shape) for shape in shapes]
        query, key, value = shapes
        result = filled(call, (*query[:3], value[3]), 0)
        moved = total(call.size_bytes(0), call.size_bytes(1), call.size_bytes(2), result)
        flops = _products(query, key, value, (1, 1))
        return Work(flops, moved, _masked(call, causal, flops, query, key))

    return formula


def _backward(causal: int, *, packed: int | None = None) -> Formula:
    """Five products: the scores again, and the gradients of scores, values, queries and keys; places as above."""

    def formula(call: Call) -> Work:
        shapes = [call.tensor(place, 4) for place in range(4)]
        if packed is not None:
            _refuse_packed(call, packed)
            shapes = [_swapped(shape) for shape in shapes]
        gradient, query, key, value = shapes
        if gradient != (*query[:3], value[3]):
            raise UnknownWorkError("gradient and query do not fit")
        sizes = [call.size_bytes(place) for place in range(4)]
        # The result itself is read too, as large as its gradient; three gradients are written.
        flops = _products(query, key, value, (3, 2))
        return Work(flops, total(*sizes, sizes[0], *sizes[1:]), _masked(call, causal, flops, query, key))

    return formula


# Kinds of mask of the memory-efficient backend: from the upper left corner, and from the lower right one.
_CAUSAL_KINDS = (1, 2)
_SDPA = "aten::_scaled_dot_product"
FORMULAS: dict[str, Formula] = {
    f"{_SDPA}_flash_attention": _forward(4),
    f"{_SDPA}_flash_attention_backward": _backward(11),
    f"{_SDPA}_efficient_attention": _forward(6),
    f"{_SDPA}_efficient_attention_backward": _backward(11),
    f"{_SDPA}_cudnn_attention": _forward(6),
    f"{_SDPA}_cudnn_attention_backward": _backward(14),
    f"{_SDPA}_flash_attention_for_cpu": _forward(4),
    f"{_SDPA}_flash_attention_for_cpu_backward": _backward(7),
    f"{_SDPA}_fused_attention_overrideable": _forward(5),
    f"{_SDPA}_fused_attention_overrideable_backward": _backward(13),
    "aten::_flash_attention_forward": _forward(8, packed=3),
    "aten::_flash_attention_backward": _backward(11, packed=6),
    "aten::_efficient_attention_forward": _forward(9, packed=4),
    "aten::_efficient_attention_backward": _backward(14, packed=6),
}
