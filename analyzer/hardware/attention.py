"""Work of fused attention in all its backends; a causal mask leaves out up to half of it, which the reference does not take off."""

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


def _forward(*, packed: int | None = None) -> Formula:
    """Two products.

    Args:
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
        return Work(_products(query, key, value, (1, 1)), moved)

    return formula


def _backward(*, packed: int | None = None) -> Formula:
    """Five products: the scores again, and the gradients of scores, values, queries and keys; `packed` as above."""

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
        return Work(_products(query, key, value, (3, 2)), total(*sizes, sizes[0], *sizes[1:]))

    return formula


_FUSED = ("efficient", "flash", "cudnn")
FORMULAS: dict[str, Formula] = {
    **{f"aten::_scaled_dot_product_{kind}_attention": _forward() for kind in _FUSED},
    **{f"aten::_scaled_dot_product_{kind}_attention_backward": _backward() for kind in _FUSED},
    "aten::_scaled_dot_product_flash_attention_for_cpu": _forward(),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _backward(),
    "aten::_scaled_dot_product_fused_attention_overrideable": _forward(),
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": _backward(),
    "aten::_flash_attention_forward": _forward(packed=3),
    "aten::_flash_attention_backward": _backward(packed=6),
    "aten::_efficient_attention_forward": _forward(packed=4),
    "aten::_efficient_attention_backward": _backward(packed=6),
}
