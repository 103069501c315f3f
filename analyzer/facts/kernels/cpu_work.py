"""Matrix work of a CPU-only run, and the time that goes into re-laying data for oneDNN."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from analyzer.facts.host.ops import BoolArray
from analyzer.facts.kernels.precision import first_tensor_type
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import matching

if TYPE_CHECKING:
    from analyzer.facts import Facts

# The ops that do the multiplying themselves, not those that call them.
_MATRIX = re.compile(
    r"aten::(?:addmm|mm|bmm|baddbmm|addbmm|mkldnn_linear|mkldnn_convolution\w*|_?slow_conv\w*|thnn_conv\w*|convolution_backward"
    r"|mkldnn_linear_backward\w*|_scaled_dot_product_flash_attention_for_cpu\w*)$|mkldnn::_(?:linear|convolution)_pointwise"
)
_REORDER = re.compile(
    r"aten::(?:to_mkldnn|_to_dense|mkldnn_reorder\w*|_mkldnn_reshape|_mkldnn_transpose\w*)$|mkldnn::_reorder\w*"
)


class CpuWork(msgspec.Struct, frozen=True):
    """Ops on the step's thread, inside the used steps; overlapping ones count once.

    Args:
        matrix: Time in matrix multiplications and convolutions.
        single: The part of it that is known to work on 32-bit floats.
        reorder: Time in changing between plain and oneDNN layouts.
        typed: Whether input types were recorded for the matrix work.
    """

    matrix: IntervalSet
    single: IntervalSet
    reorder: IntervalSet
    typed: bool


def cpu_work(facts: Facts) -> CpuWork:
    """Measures it."""
    ops = facts.trace.ops
    here = (ops["thread"] == facts.main_thread).to_numpy(dtype=bool)
    named = facts.op_tree.named
    matrix = here & named(lambda name: _MATRIX.match(name) is not None)
    reorder = here & named(lambda name: _REORDER.match(name) is not None)
    types = ops["input_types"]
    single = matrix & matching(types, lambda text: first_tensor_type(text) == "float")
    return CpuWork(
        _spans(facts, matrix),
        _spans(facts, single),
        _spans(facts, reorder),
        bool(types.notna().to_numpy()[matrix].any()),
    )


def _spans(facts: Facts, rows: BoolArray) -> IntervalSet:
    ops = facts.trace.ops
    start, end = ops["start_ns"].to_numpy(np.int64)[rows], ops["end_ns"].to_numpy(np.int64)[rows]
    return IntervalSet(start, end) & facts.window()
