"""Attention written out: a batched product, a softmax, a batched product, each with a pass over the whole score matrix."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.spans.arrays import BoolArray, Int64Array

_SOFTMAX = frozenset(("aten::_softmax",))
_SOFTMAX_BACKWARD = frozenset(("aten::_softmax_backward_data",))
_PRODUCTS = frozenset(("aten::bmm", "aten::baddbmm"))
# What torch's own function runs where no fused kernel takes its inputs.
_FALLBACK = frozenset(("aten::_scaled_dot_product_attention_math",))
# Work that cannot stand between the two products of one attention.
_BREAKS = frozenset(
    ("aten::mm", "aten::addmm", "aten::convolution", "aten::convolution_backward", "aten::_convolution")
)


class Attention(msgspec.Struct, frozen=True):
    """Attention in the used steps.

    Args:
        softmax: Softmax kernels between two batched products, forward and backward; shape (kernels,).
        products: Kernels of those products; shape (kernels,).
        calls: How many attentions were written out, forward only.
        fallbacks: How many of them torch's `scaled_dot_product_attention` wrote out itself.
        fused: Kernels of fused attention; shape (kernels,).
        fallen_back: Kernels inside `scaled_dot_product_attention` where it writes attention out itself; shape (kernels,).
    """

    softmax: BoolArray
    products: BoolArray
    calls: int
    fallbacks: int
    fused: BoolArray
    fallen_back: BoolArray


def attention(host: HostFacts, kernels: Kernels) -> Attention:
    """Finds attention written out, by the order of ops on each thread."""
    tree, found = host.ops, kernels
    kinds = np.zeros(len(tree.ops), dtype=np.int64)
    for code, names in ((1, _SOFTMAX), (2, _SOFTMAX_BACKWARD), (3, _PRODUCTS), (4, _BREAKS)):
        wanted = tree.named(names.__contains__)
        if wanted.any():
            kinds[tree.outermost(wanted)] = code
    rows = np.flatnonzero(kinds)
    rows = rows[np.lexsort((tree.ops["start_ns"].to_numpy()[rows], tree.ops["thread"].to_numpy()[rows]))]
    softmax, products = np.zeros(len(kinds), dtype=bool), np.zeros(len(kinds), dtype=bool)
    # Forward: one product on either side; backward: the gradients of two factors on either side.
    calls = _mark(tree.ops["thread"].to_numpy()[rows], kinds[rows], rows, (1, 1), softmax, products)
    falling_back = _inside(host, tree.named(_FALLBACK.__contains__))
    fallbacks = int((softmax & falling_back).sum())
    _mark(tree.ops["thread"].to_numpy()[rows], kinds[rows], rows, (2, 2), softmax, products)
    at = found.frame["op"].to_numpy()
    return Attention(
        softmax=pick(_inside(host, softmax), at) & found.is_family("softmax"),
        products=pick(_inside(host, products), at) & found.is_family("gemm", "gemv"),
        calls=calls,
        fallbacks=fallbacks,
        fused=found.is_family("attention"),
        fallen_back=pick(falling_back, at),
    )


def _mark(
    thread: Int64Array,
    kinds: Int64Array,
    rows: Int64Array,
    pattern: tuple[int, int],
    softmax: BoolArray,
    products: BoolArray,
) -> int:
    """Marks each softmax of a kind with `reach` products directly before and after it on its thread.

    Args:
        thread: Thread of each op in question, in order of thread and start.
        kinds: 1 softmax, 2 its backward, 3 batched product, 4 other matrix work.
        rows: Their rows among all ops.
        pattern: The softmax's kind, and how many products stand on either side.
        softmax: Marked in place.
        products: Marked in place.

    Returns:
        How many were found.
    """
    kind, reach = pattern
    at = np.flatnonzero(kinds == kind)
    steps = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    near = at[:, None] + steps[None, :]
    valid = ((near >= 0) & (near < len(kinds))).all(axis=1)
    at, near = at[valid], near[valid]
    fits = (kinds[near] == 3).all(axis=1) & (thread[near] == thread[at][:, None]).all(axis=1)
    softmax[rows[at[fits]]] = True
    products[rows[near[fits].ravel()]] = True
    return int(fits.sum())


def _inside(host: HostFacts, ops: BoolArray) -> BoolArray:
    """Ops that are, or are inside, one of the given ones."""
    inside: BoolArray = host.ops.nearest(ops) >= 0
    return inside
