"""GEMMs whose operands are not aligned to what tensor cores load at once, by kernel name or by shape."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.precision import ask_types, tensor_dims
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.grouping import distinct_columns
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.spans.open_spans import NONE
from traces.trace import Trace

# Position of the two matrices among the arguments.
_PRODUCTS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}
_SHORT_TYPES = ("c10::Half", "c10::BFloat16", "Half", "BFloat16")
# 16 bytes: what tensor cores load at once, in elements of 16 bits.
WIDTH = 8
# CUTLASS builds kernels for 8, 4, 2 and 1 elements; at 2 and below loads no longer use the full width of 16-bit or TF32 operands.
_POOR_ALIGNMENT = 2


class Alignment(msgspec.Struct, frozen=True):
    """Misaligned GEMMs of the used steps.

    Args:
        by_name: Kernels built for operands aligned to one or two elements; shape (kernels,).
        by_shape: Kernels of 16-bit products whose K or N is no multiple of 8; shape (kernels,).
        products: All GEMM kernels in a format tensor cores take; shape (kernels,).
        named: Share of `products` whose name states an alignment; 0 without products.
        shaped: Share of `products` whose op has shapes and types; 0 without products.
        sizes: Offending (K, N) of products [M, K] x [K, N] by device time, the most costly first, with nanoseconds. Where both are
            multiples of 8, the operand was transposed and M decides.
    """

    by_name: BoolArray
    by_shape: BoolArray
    products: BoolArray
    named: float
    shaped: float
    sizes: tuple[tuple[int, int, int], ...]


def alignment(trace: Trace, host: HostFacts, kernels: Kernels) -> Alignment:
    """Finds misaligned GEMMs."""
    found = kernels
    products = found.is_family("gemm") & found.is_format("tf32", "fp16", "bf16", "fp8")
    stated = found.frame["alignment"]
    by_name = products & (stated <= _POOR_ALIGNMENT).fillna(False).to_numpy(dtype=bool)
    op = pick_row(host.ops.nearest(host.ops.named(_PRODUCTS.__contains__)), found.frame["op"].to_numpy())
    typed, short = ask_types(trace.ops["input_types"], op, bool, lambda kinds: kinds and kinds[0] in _SHORT_TYPES)
    depth, width = _sizes(trace, op)
    by_shape = found.is_family("gemm") & short & ((depth % WIDTH != 0) | (width % WIDTH != 0))
    total = found.time_ns(products)
    return Alignment(
        by_name=by_name,
        by_shape=by_shape,
        products=products,
        named=found.time_ns(products & present(stated)) / total if total else 0.0,
        shaped=found.time_ns(products & typed) / total if total else 0.0,
        sizes=_offenders(kernels, by_name | by_shape, depth, width),
    )


def _sizes(trace: Trace, op: Int64Array) -> tuple[Int64Array, Int64Array]:
    """K and N of some matrix products, 0 of one without an op; decoded once per distinct pair of name and shapes. Shape of `op`."""
    columns = [trace.ops[name] for name in ("name", "input_dims")]
    codes = np.stack([np.append(codes_of(column), NONE)[op] for column in columns]).astype(np.int64)
    known = (codes != NONE).all(axis=0)
    pairs, place = distinct_columns(codes[:, known])
    names, shapes = (distinct_texts(column) for column in columns)
    found = np.zeros((2, len(op)), dtype=np.int64)
    if known.any():
        sizes = np.array(
            [_depth_and_width(names[one], shapes[other]) for one, other in pairs.T.tolist()], dtype=np.int64
        )
        found[:, known] = sizes[place].T
    return found[0], found[1]


def _depth_and_width(name: str, dims: str) -> tuple[int, int]:
    matrices = tensor_dims(dims)[_PRODUCTS[name] :]
    if len(matrices) < 2 or len(matrices[0]) < 2 or len(matrices[1]) < 2:
        return 0, 0
    return matrices[0][-1], matrices[1][-1]


def _offenders(
    kernels: Kernels,
    rows: BoolArray,
    depth: Int64Array,
    width: Int64Array,
) -> tuple[tuple[int, int, int], ...]:
    rows = rows & (depth > 0)
    pairs, place = distinct_columns(np.stack([depth[rows], width[rows]]))
    time = np.bincount(place, weights=kernels.frame["dur_ns"].to_numpy()[rows], minlength=pairs.shape[1])
    order = np.argsort(-time, kind="stable")[:5]
    return tuple((*pairs[:, row].tolist(), int(time[row])) for row in order.tolist())
