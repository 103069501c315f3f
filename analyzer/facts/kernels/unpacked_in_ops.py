"""Packed weights written out by ops of torch: bits are masked, shifted and scaled one kernel at a time in front of each product.

So do GGUF files in diffusers and ComfyUI, HQQ's and GPTQ's backends in plain torch, and quantised tensors without a kernel. A
library's op may do it too, whatever kernels it launches.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.ops import pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.names import POINTWISE_FAMILIES
from analyzer.spans.arrays import BoolArray
from analyzer.spans.labels import codes_of, distinct_texts
from traces.patterns import Pattern

_BITS = Pattern(r"aten::(?:bitwise_\w+|__i?(?:and|rshift|lshift)__)$")
_KERNEL_OF_BITS = Pattern(r"[Bb]itwise(?:And|Or|_and|_or)|[rl]shift")
# bitsandbytes (bitsandbytes/_ops.py), vLLM's extension: what scales the result of a product, `int8_mm_dequant`, unpacks no weight.
_UNPACKS = Pattern(r"(?:bitsandbytes|_C|awq_ext|gptq\w*)::(?!\w*mm_dequant)\w*dequant")
# Few pieces are masks of another use: a weight is unpacked in front of each of many products.
_MIN_RUNS = 3
_PRODUCTS = ("gemm", "gemv", "conv")


def unpacked_in_ops(host: HostFacts, kernels: Kernels) -> BoolArray:
    """Which kernels unpack, shape (kernels,): from the first that looks at bits until the product behind them, all pointwise.

    Args:
        host: The ops.
        kernels: Those of the used steps.
    """
    found = kernels.none
    bits = _of_bits(host, kernels)
    if not bits.any():
        return found
    frame = kernels.frame
    order = np.lexsort((frame["start_ns"].to_numpy(), frame["stream"].to_numpy()))
    stream = frame["stream"].to_numpy()[order]
    pointwise = kernels.is_family(*POINTWISE_FAMILIES)[order]
    begins = np.append(True, (pointwise[1:] != pointwise[:-1]) | (stream[1:] != stream[:-1]))
    run = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    # The kernel behind a run; of the last one there is none.
    behind = np.append(first[1:], len(order))
    to_product = np.append(kernels.is_family(*_PRODUCTS)[order], False)[behind]
    seen = np.maximum.accumulate(np.where(bits[order], np.arange(len(order)), -1))
    unpacks = pointwise & to_product[run] & (seen >= first[run])
    if len(np.unique(run[unpacks])) < _MIN_RUNS:
        return found
    found[order] = unpacks
    return found


def unpacked_by_op(host: HostFacts, kernels: Kernels) -> BoolArray:
    """Which kernels an op launches that unpacks weights by its name, shape (kernels,)."""
    ops = host.ops
    inside = ops.nearest(ops.named(lambda name: _UNPACKS.match(name) is not None)) >= 0
    rows: BoolArray = np.append(inside, False)[kernels.frame["op"].to_numpy()]
    return rows


def _of_bits(host: HostFacts, kernels: Kernels) -> BoolArray:
    """Which kernels mask or shift bits, by their op, or by their own name."""
    names = host.ops.ops["name"]
    # The last place is for kernels of no op.
    named = np.array([*(_BITS.match(name) is not None for name in distinct_texts(names)), False], dtype=bool)
    by_op: BoolArray = named[pick_row(codes_of(names).astype(np.int64), kernels.frame["op"].to_numpy())]
    return by_op | kernels.like(_KERNEL_OF_BITS)
