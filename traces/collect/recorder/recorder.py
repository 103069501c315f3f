"""Records a loop that marks its steps itself: by the phases that a script is recorded by, begun and ended by hand."""

from __future__ import annotations

import time
from multiprocessing import active_children
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from traces.collect.recorder.window import UNPROFILED_STEPS, Window
from traces.collect.trace_advisor_hook.phases.phases import Phases
from traces.collect.trace_advisor_hook.steps.step_times import middle, usual_step
from traces.errors import UsageError


class Recorder(Phases):
    """Records some steps of a loop into a file and times some after them.

    Use as a context around the training loop and call `step` at the end of each step. After the last
    step of the window the trace is exported and the profiler is off; the loop goes on undisturbed.

    Args:
        path: file to export to, as torch writes it.
        device: CUDA events are recorded when it is a CUDA device.
        wait: steps before the warm-up, exactly.
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
        asked = {"wait": wait, "warmup": warmup, "stacks": stacks, "shapes": shapes, "timed": UNPROFILED_STEPS}
        super().__init__(asked | window.settings())
        self._path = path
        self._device = device
        self._prefetched = prefetched

    def __enter__(self) -> Recorder:
        if not self.skip:
            self.begin()
        self.last = time.perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.profiler is not None and len(self.profiled) >= self.settings["least"]:
            self.stop_profiler()
        elif self.profiler is not None:
            self.abandon()  # cut short: half a window is not a trace
        elif kind is None:
            self.end_timing()

    def step(self) -> None:
        """Mark the end of a training step.

        Raises:
            UsageError: A profiler of the loop's own is on where recording would begin.
        """
        self.take(time.perf_counter_ns() - self.last)
        self.last = time.perf_counter_ns()

    # What a loop that is marked by hand says differently.

    def ready(self) -> bool:
        """Whether as many steps are over as were asked for."""
        return self.number >= self.skip

    def begin(self) -> None:
        """Turn the profiler on."""
        super().begin()
        if self.problem:
            raise UsageError(self.problem, fix="record the loop without it")

    def prefetched(self) -> int:
        """Batches that worker processes may have ready."""
        return self._prefetched

    def workers(self) -> list[int]:
        """All child processes: they are taken for the loader's."""
        return [child.pid for child in active_children() if child.pid is not None]

    def devices(self) -> list[str]:
        """The device that was named, and no other."""
        return ["cuda"] if self._device.type == "cuda" else []

    def first_mark(self) -> int:
        """Marks count as the loop does."""
        return self.taken

    def export(self, profiler: Any) -> None:
        """Write what was recorded, as torch writes it."""
        profiler.export_chrome_trace(str(self._path))
        self.exported = self._path.name

    # How far it is.

    @property
    def recorded(self) -> int:
        """How many whole steps are in the file, or will be."""
        return len(self.profiled)

    @property
    def measuring(self) -> bool:
        """Whether the coming step is measured, so that nothing else should run beside it."""
        recording = self.phase == "profile" and self.number >= self.settings["warmup"]
        return recording or self.phase in ("settle", "time")

    @property
    def profiled_step_ns(self) -> int | None:
        """Median time of a recorded step, the profiler's own start and stop left out; None before the first."""
        return middle(self.profiled)

    @property
    def unprofiled_step_ns(self) -> int | None:
        """Median time of the steps after the recorded ones; None when there were none.

        With what the device took beyond them, where the host ran ahead of it.
        """
        return usual_step(self.timed, self.behind)
