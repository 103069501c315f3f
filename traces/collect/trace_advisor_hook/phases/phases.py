"""The phases of a recording: skip what starting up costs, record with the profiler on, time as many steps with it off."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

from ..common import FAILURES
from ..marks.all_marks import Marks
from ..run_description import world
from ..software.frameworks import running_arguments, running_modules
from ..steps.step_times import middle, usual_step, wait_for_devices
from ..surroundings.core_wait import CoreWait
from ..surroundings.machine import difference, usage
from ..surroundings.python_loop import described, time_loop
from .counters import lacking, sampling
from .stacks import stacks_are_safe
from .torchs_warning import without_torchs_warning

# Left out after the recorded steps, for caches and allocator to settle.
SETTLE_STEPS = 8
OTHER_PROFILER = "the script runs a profiler of its own, and only one can run at a time"
# Our marks of steps count from here on: a profiler of the script's own marks steps, too, even when it no longer records.
FIRST_STEP = 1_000_000_000


class Phases:
    """Records some steps of a loop and times some others, each phase being called at the end of a step.

    Args:
        settings: What the parent asks for.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.skip: int = settings["wait"]
        self.retries = 0
        self.marks = Marks(settings.get("modules", ""))
        self.problem = self.source = ""
        # Steps of this loop so far, whatever became of them: the same number on every rank.
        self.taken = 0
        # Whether stacks were asked for that this torch cannot record.
        self.stacks_left_out = False
        # Why counters that were asked for are not sampled.
        self.counters_left_out = ""
        self.reset()

    def reset(self) -> None:
        """Forget the steps seen, and record again from the next on."""
        self.phase = "skip"
        self.number = self.most = self.behind = 0
        self.profiler: Any = None
        # Steps that are skipped of this loop, where they take about as long as each other.
        self.skipping = self.skip
        self.recent: list[int] = []
        self.profiled: list[int] = []
        self.timed: list[int] = []
        self.exported, self.complete = "", False
        self.before: dict[str, Any] = {}
        self.core_wait = CoreWait()
        self.core_wait_ratio: float | None = None
        self.python_rounds: list[int] = []
        # Modules of the frames that run the loop, as of the step before the recording.
        self.running: list[str] = []
        self.arguments: str | None = None
        self.details: dict[str, Any] = {}
        self.last = time.perf_counter_ns()

    def take(self, duration: int) -> None:
        """A step is over.

        Args:
            duration: How long it took, in ns.
        """
        self.number += 1
        self.taken += 1
        getattr(self, "in_" + self.phase)(duration)

    # What is known of the loop, and what follows a phase: a subclass says more.

    def epoch(self) -> int | None:
        """Steps of an epoch; None where nobody says."""
        return None

    def gone(self) -> int:
        """Steps of this epoch that were taken before the first that was counted."""
        return 0

    def prefetched(self) -> int:
        """Batches that worker processes may have ready."""
        return 0

    def devices(self) -> list[str]:
        """Devices in use, by torch's names of their modules."""
        found = [(name, getattr(sys.modules["torch"], name, None)) for name in ("cuda", "xpu")]
        return [name for name, module in found if module is not None and module.is_initialized()]

    def first_mark(self) -> int:
        """Number of the first mark of a step; ranks may begin to record at different steps: theirs count as the program does."""
        return FIRST_STEP + (self.taken if world()[1] > 1 else 0)

    def workers(self) -> list[int]:
        """Processes of the loader in use."""
        return []

    def describe(self) -> dict[str, Any]:
        """What the trace cannot say about its run."""
        return {}

    def export(self, profiler: Any) -> None:
        """Write what was recorded."""
        raise NotImplementedError

    def begin_recording(self) -> None:
        """The profiler is on."""

    def after_recording(self) -> None:
        """The steps are in the file."""

    def after_timing(self) -> None:
        """As many steps are timed without the profiler as are wanted."""

    # The phases of a recording; each is called at the end of a step with how long it took.

    def in_skip(self, duration: int) -> None:
        """Wait until the start-up costs are over, then turn the profiler on."""
        if self.number > 1:  # the first ends where the loop is found, and began nobody knows when
            self.recent.append(duration)
        self.skipping = self.enough()
        if self.ready():
            self.begin()

    def ready(self) -> bool:
        """Whether the start-up costs are over."""
        return self.number >= self.skipping and (self.steady() or world()[1] > 1)

    def begin(self) -> None:
        """Turn the profiler on, unless one of the script's own is."""
        if sys.modules["torch"].autograd._profiler_enabled():
            self.problem = OTHER_PROFILER
            return
        self.most = self.room()
        self.start_profiler(self.settings["warmup"], self.settings["stacks"], self.settings["shapes"])
        self.phase, self.number, self.problem = "profile", 0, ""
        self.marks.modules.start(bool(self.settings["warmup"]))
        self.begin_recording()

    def enough(self) -> int:
        """Steps to skip: fewer where the loader says that an epoch has few, as a script may run one epoch alone."""
        epoch = self.epoch()
        if epoch is None:
            return self.skip
        return max(2, min(self.skip, epoch - int(self.settings["warmup"]) - int(self.settings["least"]) - 1))

    def room(self) -> int:
        """Steps to record at most: where no second epoch was seen yet, a third of those that are left, to have some to time."""
        epoch, most = self.epoch(), int(self.settings["most"])
        left = 0 if epoch is None else epoch - self.gone() - self.number - self.settings["warmup"] - SETTLE_STEPS
        return max(int(self.settings["least"]), min(most, left // 3)) if left > 0 else most

    def full(self) -> bool:
        """Whether enough steps are recorded."""
        steps = len(self.profiled)
        return steps >= self.most or (
            steps >= self.settings["least"] and sum(self.profiled) >= self.settings["long_ns"]
        )

    def steady(self) -> bool:
        """Whether the last three steps took about as long as each other; after three times the wait it no longer matters."""
        last = self.recent[-3:]
        alike = not last or max(last) < 2 * min(last)
        return self.number >= 3 * self.skip or alike or self.skipping < self.skip

    def start_profiler(self, warmup: int | None, stacks: bool, shapes: bool) -> None:
        """Turn the profiler on, for devices that are in use; it records until it is stopped. None: without marks of steps."""
        torch: Any = sys.modules["torch"]
        kinds = torch.profiler.ProfilerActivity
        devices: list[Any] = [getattr(kinds, name.upper()) for name in self.devices() if hasattr(kinds, name.upper())]
        sampled = self.settings.get("counters", "")
        self.counters_left_out = lacking(torch, self.devices()) if sampled else ""
        if sampled and not self.counters_left_out:
            devices = [sampling(torch, sampled) if one is kinds.CUDA else one for one in devices]
        action = torch.profiler.ProfilerAction
        schedule = None
        self.stacks_left_out = stacks and not stacks_are_safe()
        first = self.first_mark()
        if warmup is not None:
            schedule = lambda step: action.WARMUP if max(step - first, 0) < warmup else action.RECORD  # noqa: E731
        self.profiler = torch.profiler.profile(
            activities=[kinds.CPU, *devices],
            schedule=schedule,
            on_trace_ready=self.export,
            # Of ranks they tell a slower device from more work.
            record_shapes=shapes or world()[1] > 1,
            with_stack=stacks and not self.stacks_left_out,
        )
        self.profiler.step_num = first
        self.running, self.arguments = running_modules(), running_arguments()
        # Before the warm-up: a device that it leaves without work is busy again when recording begins.
        self.python_rounds = time_loop()
        with without_torchs_warning():
            self.profiler.start()
        self.marks.start()
        self.core_wait = CoreWait()

    def stop_profiler(self) -> None:
        """Turn it off, which writes what it recorded, and note what else is known of these steps.

        That takes a millisecond, which would be the last step's as long as its mark is open.
        """
        self.core_wait_ratio = self.core_wait.ratio()
        modules = self.marks.modules
        marked = {"module_marks_ratio": modules.cost_ratio} if modules.on else {}
        self.marks.stop()
        self.profiler.stop()
        self.profiler = None
        self.details = self.describe() | self.marks.collections.told() | marked
        self.details["python_loop"] = described(self.python_rounds + time_loop())

    def end_recording(self) -> None:
        """Enough is recorded; `step` would begin the mark of one more step."""
        self.stop_profiler()
        self.phase, self.number = "settle", 0
        self.after_recording()

    def in_profile(self, duration: int) -> None:
        """The profiler is on: warming up, then recording."""
        if self.number > self.settings["warmup"]:
            self.profiled.append(duration)
        if self.profiled and self.full():
            self.end_recording()
            return
        self.profiler.step()
        if self.number == self.settings["warmup"]:
            self.marks.modules.warmed_up(self.number, duration)
            self.core_wait = CoreWait()

    def in_settle(self, duration: int) -> None:
        """The export took a while, in which workers filled their queue; the steps that find it full are not timed."""
        if self.number >= max(SETTLE_STEPS, self.prefetched()):
            wait_for_devices()
            self.phase, self.before = "time", usage(self.workers())

    def in_time(self, duration: int) -> None:
        """The profiler is off: what do steps take without it?"""
        if sys.modules["torch"].autograd._profiler_enabled():  # one of the script's own
            return
        self.timed.append(duration)
        if len(self.timed) >= self.settings["timed"]:
            self.end_timing()
            self.phase = "done"
            self.after_timing()

    def in_done(self, duration: int) -> None:
        """Nothing is left to do."""

    def abandon(self) -> None:
        """Drop a recording that is under way."""
        profiler, self.profiler = self.profiler, None
        self.marks.stop()
        if profiler is not None:
            profiler.on_trace_ready = None
            with contextlib.suppress(*FAILURES):
                profiler.stop()

    def give_way(self) -> None:
        """Leave the profiler to one of the script's own; once that is over, record from the beginning."""
        phase = self.phase
        self.abandon()
        if phase == "evidence":  # what was recorded before it stays
            self.phase = "cut"
        else:
            self.reset()
            self.problem = OTHER_PROFILER

    def figures(self) -> dict[str, Any]:
        """What was recorded and timed, for a trace's metadata: medians in ns; None where no step was, or nobody tells."""
        return (
            {"samples": None, "python_loop": None}
            | self.details
            | {
                "profiler": {key: self.settings[key] for key in ("wait", "warmup")} | {"active": len(self.profiled)},
                "profiled_step_ns": middle(self.profiled),
                "unprofiled_step_ns": usual_step(self.timed, self.behind),
                "unprofiled_steps": len(self.timed),
                "core_wait_ratio": self.core_wait_ratio,
            }
        )

    def end_timing(self) -> None:
        """Settle what the steps without the profiler took."""
        if self.timed and self.before:
            self.behind = wait_for_devices()
            self.details["samples"] = difference(self.before, usage(self.workers()))
            self.before = {}
