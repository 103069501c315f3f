"""Large pointwise operators against what the memory could do, and whether their kernels work out where each element lies."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts import Facts
from analyzer.hardware.call import UnknownWorkError, decode_call
from analyzer.hardware.layouts import Layout, of_longest
from analyzer.hardware.limits import device_peaks
from analyzer.hardware.operators import Operator, operators
from analyzer.hardware.roofline import BRIEF_NS, place
from analyzer.spans.arrays import BoolArray, Int64Array
from traces.patterns import Pattern

_POINTWISE = Pattern(r"elementwise_kernel(?:_manual_unroll)?<")
# torch launches `vectorized_` and `unrolled_elementwise_kernel` where all tensors lie in memory in one order without gaps, and this
# one where they do not (aten/src/ATen/native/cuda/CUDALoops.cuh: `gpu_kernel_impl_nocast`, `launch_legacy_kernel`).
_STEPPING = Pattern(r"(?<!\w)elementwise_kernel(?:_manual_unroll)?<")
# What lays a tensor out anew has to step through one of the two; what only writes is told by itself.
_OTHER = frozenset({"aten::copy_", "aten::fill_", "aten::zero_"})


class Pointwise(msgspec.Struct, frozen=True):
    """A pointwise operator against the memory's peak.

    Args:
        number: Its place in `operators(facts).rows`.
        operator: The operator.
        least_ns: The least time of all its calls at the memory's peak.
        steps: Whether all its kernels step through memory, rather than run along it.
        layouts: How its inputs lie in memory, where recorded strides tell; else empty.
    """

    number: int
    operator: Operator
    least_ns: float
    steps: bool
    layouts: tuple[Layout | None, ...] = ()

    @property
    def ratio(self) -> float:
        """What it reaches of the memory's peak, 0..1."""
        return self.least_ns / max(self.operator.device_ns, 1)


def pointwise(facts: Facts) -> tuple[Pointwise, ...]:
    """Operators with a least time whose kernels are all pointwise, of tensors of one shape, the longest first.

    Tensors that are stretched to the others' shape (a bias) are stepped through as well, whatever their order in memory is.
    """
    if facts.device.main is None:
        return ()
    found = operators(facts)
    mine = found.of_kernel
    known, many = mine >= 0, len(found.rows)
    kernels = np.bincount(mine[known], minlength=many)
    fitting = np.bincount(mine[known & facts.kernels.named.like(_POINTWISE)], minlength=many)
    stepping = np.bincount(mine[known & facts.kernels.named.like(_STEPPING)], minlength=many)
    limits = device_peaks(facts)[1]
    rows = []
    # Of an operator that has kernels of both kinds nobody knows which are slow.
    for number in np.flatnonzero(
        (fitting > 0) & (fitting == kernels) & ((stepping == 0) | (stepping == kernels))
    ).tolist():
        one = found.rows[number]
        at = place(one, limits)
        if (
            at.side == "memory"
            and at.least_ns is not None
            # Of less the data may lie in a cache, too.
            and at.least_ns >= BRIEF_NS * one.calls
            and one.op not in _OTHER
            and _one_shape(one)
        ):
            layouts = of_longest(facts, *_calls(facts, mine == number))
            # A tensor that is stretched to the others' shape has less to read than that says.
            if "expanded" not in layouts:
                rows.append(Pointwise(number, one, at.least_ns, bool(stepping[number]), layouts))
    return tuple(rows)


def _calls(facts: Facts, kernels: BoolArray) -> tuple[Int64Array, Int64Array]:
    """The ops that launch some kernels, and how long these take."""
    frame = facts.kernels.named.frame
    op, dur = (frame[name].to_numpy(np.int64)[kernels] for name in ("op", "dur_ns"))
    return op[op >= 0], dur[op >= 0]


def _one_shape(operator: Operator) -> bool:
    try:
        shapes = decode_call(operator.input_dims, operator.input_types).shapes
    except UnknownWorkError:
        return False
    return len({shape for shape in shapes if shape}) == 1
