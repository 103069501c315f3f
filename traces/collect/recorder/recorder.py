"""When the profiler is on, and how long steps take with and without it."""

from __future__ import annotations

import time
from multiprocessing import active_children
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch.profiler import ProfilerAction, ProfilerActivity, profile

from traces.collect.recorder.window import Window
from traces.collect.trace_advisor_hook.core_wait import CoreWait
from traces.collect.trace_advisor_hook.gc_marks import CollectionMarks
from traces.collect.trace_advisor_hook.machine import difference, usage
from traces.collect.trace_advisor_hook.phases import SETTLE_STEPS
from traces.collect.trace_advisor_hook.python_loop import described, time_loop
from traces.collect.trace_advisor_hook.step_times import middle, usual_step, wait_for_devices
from traces.collect.trace_advisor_hook.torchs_warning import without_torchs_warning

UNPROFILED_STEPS = 20


class Recorder:
    """Records the active steps of a schedule into a file and times steps before and after.

    Use as a context around the training loop and call `step` at the end of each step. After the last
    step of the window the trace is exported and the profiler is off; the loop goes on undisturbed.

    Args:
        path: file to export to, as torch writes it.
        device: CUDA events are recorded when it is a CUDA device.
        wait: steps before the warm-up.
        warmup: steps with the profiler on, its events thrown away.
        window: how many steps to record.
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
        window: Window,
        prefetched: int,
        stacks: bool,
        shapes: bool,
    ) -> None:
        self._path = path
        self._wait = wait
        self._first_active = wait + warmup
        self._window = window
        self._settle = max(SETTLE_STEPS, prefetched)
        self._closed_at: int | None = None
        self._done = 0
        self._started_ns = time.perf_counter_ns()
        self._profiled_ns: list[int] = []
        self._unprofiled_ns: list[int] = []
        self._behind_ns = 0
        self._core_wait = CoreWait()
        self._core_wait_ratio: float | None = None
        self._python_rounds: list[int] = []
        self._before: dict[str, Any] | None = None
        self._samples: dict[str, Any] | None = None
        activities = [ProfilerActivity.CPU]
        if device.type == "cuda":
            activities.append(ProfilerActivity.CUDA)
        self._collections = CollectionMarks()
        self._profiler = profile(
            activities=activities,
            schedule=self._action,
            on_trace_ready=self._export,
            record_shapes=shapes,
            with_stack=stacks,
        )

    def __enter__(self) -> Recorder:
        if not self._wait:
            self._python_rounds = time_loop()
        with without_torchs_warning():
            self._profiler.start()
        self._collections.start()
        self._core_wait = CoreWait()
        self._started_ns = time.perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._closed_at is not None:
            if 0 < len(self._unprofiled_ns) < UNPROFILED_STEPS and kind is None:
                self._behind_ns = wait_for_devices()
            return
        if len(self._profiled_ns) < self._window.least:
            self._collections.stop()
            self._profiler.on_trace_ready = None  # cut short: half a window is not a trace
            self._profiler.stop()
        else:
            self._close()

    def step(self) -> None:
        """Mark the end of a training step."""
        duration_ns = time.perf_counter_ns() - self._started_ns
        if self._closed_at is None:
            self._step_profiled(duration_ns)
        elif self._done >= self._closed_at + self._settle and len(self._unprofiled_ns) < UNPROFILED_STEPS:
            self._unprofiled_ns.append(duration_ns)
            if len(self._unprofiled_ns) == UNPROFILED_STEPS:
                self._behind_ns = wait_for_devices()
        self._sample()
        self._done += 1
        self._started_ns = time.perf_counter_ns()

    def _step_profiled(self, duration_ns: int) -> None:
        """A step ended while the profiler was on, or about to be."""
        if self._done >= self._first_active:
            self._profiled_ns.append(duration_ns)
            if self._window.is_full(len(self._profiled_ns), sum(self._profiled_ns)):
                self._close()
                return
        if self._done + 1 == self._wait:
            # Before the warm-up: a device that it leaves without work is busy again when recording begins.
            self._python_rounds = time_loop()
        if self._done + 1 <= self._wait:
            with without_torchs_warning():
                self._profiler.step()
        else:
            self._profiler.step()
        if self._done + 1 == self._first_active:
            self._core_wait = CoreWait()

    def _sample(self) -> None:
        """Look at memory, cores and disk where the timing of steps without the profiler begins and ends."""
        if self._closed_at is not None and self._before is None and self._done + 1 >= self._closed_at + self._settle:
            wait_for_devices()
            self._before = usage([child.pid for child in active_children() if child.pid is not None])
        elif self._before is not None and self._samples is None and len(self._unprofiled_ns) == UNPROFILED_STEPS:
            self._samples = difference(self._before, usage(list(self._before["workers"])))

    def _close(self) -> None:
        """Turn the profiler off and export. `stop`, not `step`: that would begin the mark of one more step."""
        self._core_wait_ratio = self._core_wait.ratio()
        self._collections.stop()
        self._profiler.stop()
        self._python_rounds += time_loop()
        self._closed_at = self._done + 1

    def _action(self, step: int) -> ProfilerAction:
        """What the profiler does in a step; it records until it is stopped."""
        if step < self._wait:
            return ProfilerAction.NONE
        return ProfilerAction.WARMUP if step < self._first_active else ProfilerAction.RECORD

    @property
    def done(self) -> int:
        """Steps taken so far."""
        return self._done

    @property
    def exported(self) -> bool:
        """Whether the steps are in the file."""
        return self._closed_at is not None

    @property
    def recorded(self) -> int:
        """How many whole steps are in the file, or will be."""
        return len(self._profiled_ns)

    @property
    def measuring(self) -> bool:
        """Whether the coming step is measured, so that nothing else should run beside it."""
        if self._closed_at is None:
            return self._done >= self._first_active
        return self._done < self._closed_at + self._settle + UNPROFILED_STEPS

    @property
    def profiled_step_ns(self) -> int | None:
        """Median time of a recorded step, the profiler's own start and stop left out; None before the first."""
        return middle(self._profiled_ns)

    @property
    def unprofiled_step_ns(self) -> int | None:
        """Median time of up to `UNPROFILED_STEPS` steps after the recorded ones; None when there were none.

        With what the device took beyond them, where the host ran ahead of it.
        """
        return usual_step(self._unprofiled_ns, self._behind_ns)

    @property
    def unprofiled_steps(self) -> int:
        """How many steps `unprofiled_step_ns` is the median of."""
        return len(self._unprofiled_ns)

    @property
    def samples(self) -> dict[str, Any] | None:
        """Memory, cores and disk used while steps were timed, all child processes being taken for workers; None before."""
        return self._samples

    @property
    def gc_recorded(self) -> bool:
        """Whether passes of the garbage collector are in the file, so that where none is, none was."""
        return self._collections.able

    @property
    def python_loop(self) -> dict[str, Any] | None:
        """What an empty loop took beside the recording, see `python_loop.described`; None before it."""
        return described(self._python_rounds)

    @property
    def core_wait_ratio(self) -> float | None:
        """Share of the recorded steps in which their thread had no core; None before their end or where nobody tells."""
        return self._core_wait_ratio

    def _export(self, profiler: profile) -> None:
        profiler.export_chrome_trace(str(self._path))
