"""Matrix work of a CPU-only run, and the time that goes into re-laying data for oneDNN."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.precision import first_tensor_type
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray
from analyzer.spans.columns import present
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, is_any, matching
from analyzer.spans.nesting import own_ns
from traces.patterns import Pattern
from traces.trace import Trace

# The ops that do the multiplying themselves, not those that call them.
_MATRIX = Pattern(
    r"aten::(?:addmm|mm|bmm|baddbmm|addbmm|mkldnn_linear|mkldnn_convolution\w*|_?slow_conv\w*|thnn_conv\w*|convolution_backward"
    r"|mkldnn_linear_backward\w*|mkldnn_rnn_layer(?:_backward)?|_scaled_dot_product_flash_attention_for_cpu\w*)$"
    r"|mkldnn::_(?:linear|convolution)_pointwise"
)
_REORDER = Pattern(
    r"aten::(?:to_mkldnn|_to_dense|mkldnn_reorder\w*|_mkldnn_reshape|_mkldnn_transpose\w*)$|mkldnn::_reorder\w*"
)
# Floats of 16 bits, as the profiler writes their types.
_SHORT = ("c10::BFloat16", "c10::Half")

# What torch.compile wraps compiled code in: its own time is that of kernels.
_COMPILED = frozenset({"CompiledFunction"})
# A call this short is mostly its own beginning and end, which the processor's units, its other cores or narrower numbers leave as
# they are: a product of 8 x 64 by 64 x 8 takes 3 us under the profiler, of it 0.1 us for multiplying.
_BRIEF_NS = 10_000


class CpuWork(msgspec.Struct, frozen=True):
    """Ops on the step's thread, inside the used steps; overlapping ones count once.

    Args:
        matrix: Time in matrix multiplications, convolutions and recurrent layers whose calls usually last long enough to be mostly
            arithmetic.
        single: The part of it that is known to work on 32-bit floats.
        double: The part of it that is known to work on 64-bit floats.
        short: The part of it that is known to work on 16-bit floats.
        reorder: Time in changing between plain and oneDNN layouts.
        typed: Whether input types were recorded for the matrix work.
    """

    matrix: IntervalSet
    single: IntervalSet
    double: IntervalSet
    short: IntervalSet
    reorder: IntervalSet
    typed: bool


def cpu_work(trace: Trace, steps: Steps, host: HostFacts) -> CpuWork:
    """Measures it."""
    ops = trace.ops
    here = (ops["thread"] == host.main_thread).to_numpy(dtype=bool)
    named = host.ops.named
    matrix = _lasting(ops, here & named(lambda name: _MATRIX.match(name) is not None))
    reorder = here & named(lambda name: _REORDER.match(name) is not None)
    types = ops["input_types"]
    single, double, short = (matrix & _of_type(types, *kinds) for kinds in (("float",), ("double",), _SHORT))
    return CpuWork(
        _spans(trace, steps, matrix),
        _spans(trace, steps, single),
        _spans(trace, steps, double),
        _spans(trace, steps, short),
        _spans(trace, steps, reorder),
        bool(present(types)[matrix].any()),
    )


def _lasting(ops: pd.DataFrame, rows: BoolArray) -> BoolArray:
    """Those ops whose calls, of one name and one shape, usually last long enough to be mostly arithmetic.

    Of brief ones some last long on a machine with other work.
    """
    some = np.flatnonzero(rows)
    if not len(some):
        return rows
    kind = codes_of(ops["name"])[some].astype(np.int64) << 32 | (codes_of(ops["input_dims"])[some].astype(np.int64) + 1)
    taken = (ops["end_ns"] - ops["start_ns"]).to_numpy()[some]
    usual = pd.Series(taken).groupby(kind).transform("median").to_numpy()
    found = np.zeros(len(rows), dtype=bool)
    found[some[usual >= _BRIEF_NS]] = True
    return found


class OwnTime(msgspec.Struct, frozen=True):
    """The op in which the step's thread spends most time that no op inside it takes.

    Args:
        name: Of the op.
        ns: Its own time in the used steps.
        matrix: Whether it multiplies matrices, as models are meant to.
    """

    name: str
    ns: int
    matrix: bool


def own_by_name(trace: Trace, steps: Steps, host: HostFacts, inside: IntervalSet | None = None) -> pd.Series[Any]:
    """Nanoseconds in the used steps that the step's thread spends in ops of each name and in no op inside them.

    What an optimizer does between its ops is none of an op around it: where it steps in hooks of its gradients, that is the node
    which hands them over.

    Args:
        trace: The trace.
        steps: The steps.
        host: What the threads of the host do.
        inside: The part of the steps that counts; None for all.
    """
    ops, window = trace.ops, steps.host_window
    if not len(window):
        return pd.Series(dtype=np.int64)
    # An op around the range that marks the first step begins just before it.
    bounds = window.start_ns[0], window.end_ns[-1]
    start, end = (np.clip(ops[name].to_numpy(np.int64), *bounds) for name in ("start_ns", "end_ns"))
    here = (ops["thread"] == host.main_thread).to_numpy(dtype=bool)
    lasts = end - start if inside is None else inside.overlap_with(start, end)
    pauses = _between_updates(ops, here, host)
    if pauses:
        lasts = lasts - (pauses if inside is None else pauses & inside).overlap_with(start, end)
    own = own_ns(lasts, host.ops.parent)
    here = here & window.contains(start) & (end > start)
    total: pd.Series[Any] = ops[here].assign(own_ns=own[here]).groupby("name", observed=True)["own_ns"].sum()
    return total


def _between_updates(ops: pd.DataFrame, here: BoolArray, host: HostFacts) -> IntervalSet:
    """What the step's thread is in an optimizer and in none of its ops, where that steps inside of another op."""
    if host.main_thread is None:
        return EMPTY
    updates = host.threads.during("optimizer", host.main_thread)
    inside = updates.contains(ops["start_ns"])
    around = here & ~inside & (updates.overlap_with(ops["start_ns"], ops["end_ns"]) > 0)
    return updates - IntervalSet.of_rows(ops, here & inside) if around.any() else EMPTY


def longest_op(total: pd.Series[Any], *, products: bool = True) -> OwnTime | None:
    """The op of most own time; None where the thread runs no op in the used steps.

    Args:
        total: What `own_by_name` gives.
        products: Whether ops that multiply matrices count.
    """
    if not products:
        total = total[[_MATRIX.match(str(name)) is None for name in total.index]]
    if not len(total):
        return None
    name = str(total.idxmax())
    return OwnTime(name, int(total.max()), _MATRIX.match(name) is not None)


def written_function(total: pd.Series[Any]) -> OwnTime | None:
    """The `torch.autograd.Function` written in Python in which the step's thread spends most time, forward and backward.

    Such a class gives its name to its call, and with `Backward` behind it to its node; nodes of torch's own ops end in a number, or
    their ops are named otherwise. None where there is none.

    Args:
        total: What `own_by_name` gives.
    """
    times = {str(name): int(ns) for name, ns in total.items()}
    both = {
        name: ns + times[f"{name}Backward"]
        for name, ns in times.items()
        if f"{name}Backward" in times and name not in _COMPILED
    }
    if not both:
        return None
    name = max(both, key=lambda one: both[one])
    return OwnTime(name, both[name], matrix=False)


def function_time(trace: Trace, steps: Steps, host: HostFacts, name: str) -> IntervalSet:
    """Time of the step's thread in calls and nodes of a function of autograd, and in no op that they call.

    Args:
        trace: The trace.
        steps: The steps.
        host: What the threads of the host do.
        name: Of the function.
    """
    ops = trace.ops
    rows = (ops["thread"] == host.main_thread).to_numpy(dtype=bool) & is_any(ops["name"], name, f"{name}Backward")
    called = rows.take(host.ops.parent) & (host.ops.parent != np.arange(len(rows))) & ~rows
    return (IntervalSet.of_rows(ops, rows) - IntervalSet.of_rows(ops, called)) & steps.window


def _of_type(types: pd.Series[Any], *kinds: str) -> BoolArray:
    """Ops whose first tensor is of one of some types."""
    return matching(types, lambda text: first_tensor_type(text) in kinds)


def _spans(trace: Trace, steps: Steps, rows: BoolArray) -> IntervalSet:
    ops = trace.ops
    start, end = ops["start_ns"].to_numpy(np.int64)[rows], ops["end_ns"].to_numpy(np.int64)[rows]
    return IntervalSet(start, end) & steps.window
