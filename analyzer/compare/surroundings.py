"""What else went on while a run was recorded, as far as the trace tells it: whether its steps can be believed."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts import Facts
from analyzer.facts.kernels.counters import CLOCK


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Of one run; None where nobody measured it.

    Args:
        core_wait_ratio: Share of the time of the recorded steps in which the training thread could run and had no core.
        python_slowness: How many times as long an empty loop took beside the recording as on a quiet machine.
        unprofiled_step_ns: Median step time with the profiler off.
        clock_mhz: Median clock of the device that stands for the trace while it was busy.
        locked_clock: Whether metrics were recorded that lock the clock meanwhile.
        crowds_itself: Whether the run has loader workers, or more threads than cores, that may be what took the cores.
    """

    core_wait_ratio: float | None = None
    python_slowness: float | None = None
    unprofiled_step_ns: int | None = None
    clock_mhz: float | None = None
    locked_clock: bool = False
    crowds_itself: bool = False


def surroundings(facts: Facts) -> Surroundings:
    """Takes down those of one run."""
    told = facts.recording.collected
    threads = told.intra_op_threads is not None and told.cores is not None and told.intra_op_threads > told.cores
    return Surroundings(
        core_wait_ratio=told.core_wait_ratio,
        python_slowness=told.python_slowness,
        unprofiled_step_ns=told.unprofiled_step_ns or None,
        clock_mhz=_clock_mhz(facts),
        locked_clock=facts.kernels.counters.locked,
        crowds_itself=threads or bool(told.num_workers) or facts.input.wait.multi_process,
    )


def _clock_mhz(facts: Facts) -> float | None:
    main = facts.device.main
    found = facts.kernels.counters.of(CLOCK, main.device) if main is not None else None
    return float(np.median(found.value)) if found is not None else None
