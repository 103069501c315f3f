"""Layers stepped in a Python loop: a recurrent cell called once per element of a sequence, and what calling it once would leave."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.kernels.names import MATRIX_FAMILIES
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.loops.cells import Cell, cell_of
from analyzer.facts.loops.expert_loss import PRODUCTS
from analyzer.facts.loops.loop import Loop
from analyzer.facts.time.host_loss import host_idle
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import IntervalSet
from traces.trace import Trace

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
    """

    loop: Loop
    cell: Cell | None
    claims: IntervalSet
    work_ns: int


def recurrences(
    trace: Trace, device: DeviceFacts, time: TimeFacts, loops: tuple[Loop, ...], kernels: KernelFacts
) -> tuple[Recurrence, ...]:
    """Loops of the used steps that step a recurrent cell, longest first."""
    return tuple(_recurrence(trace, device, time, kernels, loop) for loop in loops if loop.steps_a_cell)


def _recurrence(trace: Trace, device: DeviceFacts, time: TimeFacts, kernels: KernelFacts, loop: Loop) -> Recurrence:
    if device.main is None:
        claims, work_ns = loop.spans & time.waterfall.owned("python"), _op_time(trace, time, loop)
    else:
        idle = host_idle(time.device_waits, time.waterfall)
        claims, work_ns = loop.spans & idle, _kernel_time(kernels, loop)
    return Recurrence(loop, cell_of(loop.unit), claims, work_ns)


def _op_time(trace: Trace, time: TimeFacts, loop: Loop) -> int:
    """Time inside the loop's ops, less the sequential part of the forward products."""
    ops = trace.ops
    products = ops[ops["name"].isin(PRODUCTS)]
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
