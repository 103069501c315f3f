"""Layers stepped in a Python loop: a recurrent cell called once per element of a sequence, and what calling it once would leave."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.kernels.names import MATRIX_FAMILIES
from analyzer.facts.kernels.precision import first_tensor_type
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.loops.cells import Cell, cell_of, stepped_layer
from analyzer.facts.loops.loop import Loop
from analyzer.facts.loops.products import PRODUCTS
from analyzer.facts.time.host_loss import host_idle
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from traces.trace import Trace

# On the CPU torch has one op for all turns of an LSTM alone, in 16 or 32 bits (oneDNN); its other layers call the cell's ops turn
# by turn, from C++ (aten/src/ATen/native/RNN.cpp). Of 60 turns of batches of 4 to 32 `nn.GRU` saved 18 to 28 %, `nn.RNN` 19 to
# 44 %, `nn.LSTM` in 64 bits 11 to 25 %, in 32 bits 43 to 92 % (torch 2.15, one thread).
_STEPS_ITSELF = ("GRU", "RNN")
# More than 32 bits a parameter in the mean of all, halfway to 64.
_WIDE_BYTES = 6
# On the CPU products and gates of a whole layer are one op.
_FUSED_LAYERS = ("aten::mkldnn_rnn_layer", "aten::mkldnn_rnn_layer_backward")
# A kernel without a launch was launched in no loop.
_NEVER = np.iinfo(np.int64).min
# Of the products of one turn at least one, that with the state, has to be made turn by turn; that with the input need not.
_SEQUENTIAL_RATIO = 0.5
# In the backward pass each of the two has a gradient of its input and one of its weights; only that of the state waits for a turn.
_SEQUENTIAL_BACKWARD_RATIO = 0.25


class Recurrence(msgspec.Struct, frozen=True):
    """One loop that steps layers.

    Args:
        loop: The loop.
        cell: Which of torch's recurrent layers does the same in one call; None for a cell written by hand.
        claims: Device-idle time in the loop in which the host prepares work; on a CPU-only trace its time outside ops.
        work_ns: Time of its kernels (on a CPU-only trace: inside its ops), less the products that stay one after the other.
        steps_itself: Whether torch's layer calls the cell's ops turn by turn as well, so that only what lies between them goes;
            None where its numbers' bits would tell, and nothing does.
        of_layer: Whether the loop calls that layer itself, with one element at a time.
    """

    loop: Loop
    cell: Cell | None
    claims: IntervalSet
    work_ns: int
    steps_itself: bool | None = False
    of_layer: bool = False


def recurrences(
    trace: Trace,
    device: DeviceFacts,
    time: TimeFacts,
    loops: tuple[Loop, ...],
    kernels: KernelFacts,
    parameter_bytes: float | None = None,
) -> tuple[Recurrence, ...]:
    """Loops of the used steps that step a recurrent cell, longest first.

    Args:
        trace: The trace.
        device: Work of the devices.
        time: Whose each nanosecond is.
        loops: All loops.
        kernels: Kernels of the used steps.
        parameter_bytes: Bytes of a parameter, in the mean of all; None where nobody recorded them.
    """
    return tuple(
        _recurrence(trace, device, time, kernels, loop, parameter_bytes) for loop in loops if loop.steps_a_cell
    )


def _recurrence(
    trace: Trace,
    device: DeviceFacts,
    time: TimeFacts,
    kernels: KernelFacts,
    loop: Loop,
    parameter_bytes: float | None,
) -> Recurrence:
    named = cell_of(loop.unit)
    cell = named or stepped_layer(loop.unit, indexed=loop.indexed)
    of_layer = cell is not named
    if device.main is None:
        work_ns = _op_time(trace, time, loop)
        wide = _wide(trace, loop, parameter_bytes)
        claims = loop.spans & time.waterfall.owned("python")
        return Recurrence(loop, cell, claims, work_ns, steps_itself=_steps_itself(cell, wide), of_layer=of_layer)
    idle = host_idle(time.device_waits, time.waterfall)
    return Recurrence(loop, cell, loop.spans & idle, _kernel_time(kernels, loop), of_layer=of_layer)


def _steps_itself(cell: Cell | None, wide: bool | None) -> bool | None:
    """Whether torch's layer calls the cell's ops turn by turn on the CPU; of an LSTM only where its numbers have 64 bits."""
    if cell == "LSTM":
        return wide
    return cell in _STEPS_ITSELF


def _wide(trace: Trace, loop: Loop, parameter_bytes: float | None) -> bool | None:
    """Whether the loop's numbers have 64 bits: by the types of its products, else by what the parameters take."""
    ops = trace.ops
    rows = ops["name"].isin(PRODUCTS).to_numpy() & loop.forward.contains(ops["start_ns"].to_numpy())
    texts, codes = distinct_texts(ops["input_types"]), codes_of(ops["input_types"])[rows]
    types = {first_tensor_type(texts[code]) for code in np.unique(codes[codes >= 0]).tolist()} - {None}
    if types:
        return types == {"double"}
    return None if parameter_bytes is None else parameter_bytes > _WIDE_BYTES


def _op_time(trace: Trace, time: TimeFacts, loop: Loop) -> int:
    """Time inside the loop's ops, less the sequential part of the forward products."""
    ops = trace.ops
    products = ops[ops["name"].isin((*PRODUCTS, *_FUSED_LAYERS))]
    spans = IntervalSet.of_rows(products)
    inside = (loop.spans & time.waterfall.owned("compute")).total_ns
    return inside - _sequential((spans & loop.forward).total_ns, (spans & loop.backward).total_ns)


def _kernel_time(kernels: KernelFacts, loop: Loop) -> int:
    """Time of the kernels that the loop launches, less the sequential part of the forward products."""
    named = kernels.named
    launched = named.frame["launch_start_ns"].fillna(_NEVER).to_numpy(dtype=np.int64)
    products = named.is_family(*MATRIX_FAMILIES)
    forward, backward = (named.time_ns(products & spans.contains(launched)) for spans in (loop.forward, loop.backward))
    return named.time_ns(loop.spans.contains(launched)) - _sequential(forward, backward)


def _sequential(forward_ns: int, backward_ns: int) -> int:
    """Of the products the part that one call over the whole sequence makes turn by turn as well."""
    return int(_SEQUENTIAL_RATIO * forward_ns + _SEQUENTIAL_BACKWARD_RATIO * backward_ns)
