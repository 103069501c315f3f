"""When the profiler is on, and how long steps take with and without it."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from types import TracebackType

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from traces.collect.core_wait import CoreWait

UNPROFILED_STEPS = 20
# Left out after the recorded steps, for caches and allocator to settle.
SETTLE_STEPS = 8


class Recorder:
    """Records the active steps of a schedule into a file and times steps before and after.

    Use as a context around the training loop and call `step` at the end of each step. After the last
    active step the trace is exported and the profiler is off; the loop goes on undisturbed.

    Args:
        path: file to export to, as torch writes it.
        device: CUDA events are recorded when it is a CUDA device.
        wait: steps before the warm-up.
        warmup: steps with the profiler on, its events thrown away.
        active: steps to record.
        prefetched: batches that worker processes may have ready. The export takes some 100 ms, in
            which they fill their queue; the steps that find it full are not timed.
        stacks: record Python frames.
        shapes: record the shapes of operator inputs.
    """

    def __init__(
        self,
        path: Path,
        device: torch.device,
        *,
        wait: int,
        warmup: int,
        active: int,
        prefetched: int,
        stacks: bool,
        shapes: bool,
    ) -> None:
        self._path = path
        self._first_active = wait + warmup
        self._end_active = wait + warmup + active
        self._first_timed = self._end_active + max(SETTLE_STEPS, prefetched)
        self._done = 0
        self._started_ns = time.perf_counter_ns()
        self._profiled_ns: list[int] = []
        self._unprofiled_ns: list[int] = []
        self._core_wait = CoreWait()
        self._core_wait_ratio: float | None = None
        activities = [ProfilerActivity.CPU]
        if device.type == "cuda":
            activities.append(ProfilerActivity.CUDA)
        self._profiler = profile(
            activities=activities,
            # repeat=1: without it the next cycle throws the recorded steps away.
            schedule=schedule(wait=wait, warmup=warmup, active=active, repeat=1),
            on_trace_ready=self._export,
            record_shapes=shapes,
            with_stack=stacks,
        )

    def __enter__(self) -> Recorder:
        self._profiler.start()
        self._core_wait = CoreWait()
        self._started_ns = time.perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._done < self._end_active:
            self._profiler.on_trace_ready = None  # cut short: half a window is not a trace
            self._profiler.stop()

    def step(self) -> None:
        """Mark the end of a training step."""
        duration_ns = time.perf_counter_ns() - self._started_ns
        if self._first_active <= self._done < self._end_active:
            self._profiled_ns.append(duration_ns)
        elif self._done >= self._first_timed and len(self._unprofiled_ns) < UNPROFILED_STEPS:
            self._unprofiled_ns.append(duration_ns)
        if self._done == self._end_active - 1:
            self._core_wait_ratio = self._core_wait.ratio()
        if self._done < self._end_active:
            self._profiler.step()
        self._done += 1
        if self._done == self._first_active:
            self._core_wait = CoreWait()
        if self._done == self._end_active:
            self._profiler.stop()
        self._started_ns = time.perf_counter_ns()

    @property
    def done(self) -> int:
        """Steps taken so far."""
        return self._done

    @property
    def exported(self) -> bool:
        """Whether all active steps are in the file."""
        return self._done >= self._end_active

    @property
    def measuring(self) -> bool:
        """Whether the coming step is measured, so that nothing else should run beside it."""
        return self._first_active <= self._done < self._first_timed + UNPROFILED_STEPS

    @property
    def profiled_step_ns(self) -> int | None:
        """Median time of a recorded step, the profiler's own start and stop left out; None before the first."""
        return _median(self._profiled_ns)

    @property
    def unprofiled_step_ns(self) -> int | None:
        """Median time of up to `UNPROFILED_STEPS` steps after the recorded ones; None when there were none."""
        return _median(self._unprofiled_ns)

    @property
    def unprofiled_steps(self) -> int:
        """How many steps `unprofiled_step_ns` is the median of."""
        return len(self._unprofiled_ns)

    @property
    def core_wait_ratio(self) -> float | None:
        """Share of the recorded steps in which their thread had no core; None before their end or where nobody tells."""
        return self._core_wait_ratio

    def _export(self, profiler: profile) -> None:
        profiler.export_chrome_trace(str(self._path))


def _median(durations_ns: list[int]) -> int | None:
    return round(statistics.median(durations_ns)) if durations_ns else None
