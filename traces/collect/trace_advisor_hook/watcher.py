"""Finds the steps of a script: where they come from, and what the parent hears of them."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from types import FrameType
from typing import Any

from .again.again import Again
from .common import FAILURES
from .loader.batches import BatchLook
from .loader.drawing import Drawing
from .loader.forward_inputs import ForwardInputs
from .loader.loader_code import loader_code
from .phases.later_phases import LaterPhases
from .phases.phases import FIRST_STEP
from .run_description import describe_process, describe_training, world
from .sampling.sampler import Sampler
from .software.environment import changed_since, describe_environment
from .software.frameworks import describe_frameworks
from .software.installed import installed_names
from .software.optimizer_code import OptimizerCode
from .status import write_status
from .steps.backward_passes import WITHOUT_OPTIMIZER, BackwardPasses
from .steps.course import Course
from .steps.optimizer_turns import OptimizerTurns
from .steps.step_times import batches_of_a_step
from .untrained import Untrained

# An evaluation between the steps draws batches too, but runs nothing backward.
PREFERENCE = {"time": 0, "forward": 1, "loader": 2, "backward": 3, "optimizer": 4}


class Watcher(LaterPhases):
    """Finds steps, records some of them, and tells the parent."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.thread = 0
        self.guard: Any = None
        self.began_with = describe_environment()
        # What this process does may be all there is to record: it is the program, or a rank of it.
        self.expected = True
        self.begin_process()

    def launched(self) -> None:
        """Another process has started this one: a rank, or a helper, of which nothing need be told where it trains nothing."""
        self.expected = "RANK" in os.environ or bool(self.settings.get("program"))

    def begin_process(self) -> None:
        """Start from nothing: at the beginning, and in a child the script forks."""
        self.child = self.pid != 0
        self.pid = os.getpid()
        self.source = ""
        self.job: tuple[int | None, int] = (None, 1)
        self.turns, self.untrained = OptimizerTurns(), Untrained()
        self.optimizer_code = OptimizerCode()
        self.passes = BackwardPasses()
        self.counts = {"optimizer": 0, "backward": 0, "loader": 0, "forward": 0}
        self.course = Course()
        self.sampler = Sampler(self.course)
        self.drawing, self.look = Drawing(), BatchLook()
        self.again = Again(lambda: bool(self.passes.running), self.untrained.trained)
        self.inputs = ForwardInputs()
        self.lines = None
        self.reset()

    # Where steps come from.

    def after_optimizer(self, optimizer: Any) -> None:
        """A step of an optimizer is over; of several that take turns, a round of all is one step of the loop."""
        self.counts["optimizer"] += 1
        self.untrained.after_optimizer(optimizer)
        # In a hook of its gradient, on a thread of autograd's where there is a device: the step ends with the backward pass.
        if self.passes.running:
            self.passes.updated = True
        else:
            self._updated(optimizer)

    def _updated(self, optimizer: Any) -> None:
        """An optimizer, or those of a backward pass together, had a turn."""
        ends = self.turns.ends_step(optimizer)
        self.untrained.round += ends
        if self.phase == "skip" and self.turns.let_lead(optimizer):
            self.begin_loop("optimizer")
            ends = True
        followed = self.turns.at_once
        follows = not ends and self.turns.let_succeed(optimizer)
        # A recording under way is of one loop; of its successor's steps those that told it are in no step of the recording.
        if (
            self.phase == "profile"
            and threading.get_ident() == self.thread
            and ((follows and not followed) or self.turns.is_over)
        ):
            self.loop_over()
        elif ends or follows:
            self.boundary("optimizer")

    def before_batch(self, iterator: Any) -> None:
        """A loader is about to be asked for a batch."""
        if threading.current_thread() is not threading.main_thread():
            return
        self.counts["loader"] += 1
        self.drawing.draw(iterator)
        patience = WITHOUT_OPTIMIZER if sys.modules["torch"].is_grad_enabled() else self.skip
        if self.source == "loader" or (self.turns.lead is None and self.counts["loader"] > patience):
            self.boundary("loader")

    def after_batch(self, batch: Any) -> None:
        """A loader has made one."""
        self.look.after(batch)
        self.again.after_batch(batch)

    def after_last_batch(self) -> None:
        """The loader was asked once more than it has batches, as every pass ends."""
        if threading.current_thread() is threading.main_thread():
            self.counts["loader"] -= 1
            self.drawing.drew_none()

    def after_backward(self, caller: FrameType | None, *, gradients: bool = False) -> None:
        """A backward pass is over, run by that frame; with `gradients` it only handed gradients back."""
        if not gradients:
            self.untrained.after_backward()
        if gradients and self.passes.ran:
            return
        self.counts["backward"] += 1
        place = self.passes.place(caller, gradients=gradients)
        if place is None:
            return
        together = self.passes.updates(place)
        if together is not None:
            self._updated(together)
        if self.turns.lead is None and self.passes.leads(place) and (self.source == "backward" or self.passes.is_alone):
            self.boundary("backward")

    def before_forward(self, arguments: Any = (), named: Any = None) -> None:
        """A model that nobody trains is about to be called.

        Args:
            arguments: What it is given, in order.
            named: By name; None where nobody knows.
        """
        self.counts["forward"] += 1
        self.boundary("forward")
        if self.phase == "profile":
            self.inputs.note(arguments, named)

    def boundary(self, source: str) -> None:
        """One step ends and the next begins."""
        if self.source != source:
            if self.source and PREFERENCE[source] < PREFERENCE[self.source]:
                return
            self.begin_loop(source)
        if threading.get_ident() != self.thread:
            return
        now = time.perf_counter_ns()
        duration = now - self.last
        self.drawing.done += 1
        self.sampler.paused = True
        self.end_step(now, duration)
        try:
            self.take(duration)
        except FAILURES as error:
            self.failed(error)
        self._look_again(duration)
        self.sampler.paused = self.profiler is not None
        self.course.worked(now)
        self.last = self.course.last_ns

    def _look_again(self, duration: int) -> None:
        """See which calls of modules compute what is known: in steps before the recording, and in those that are recorded."""
        if self.phase == "skip" and "trial" not in self.settings:
            trains = self.source in ("optimizer", "backward")
            self.again.after_skipped(self.number, duration, skipping=self.skipping, steps_train=trains)
        for module in self.marks.again:
            module.next_step()

    def begin_loop(self, source: str) -> None:
        """What was taken for steps was none of the loop that begins now."""
        self.taken = 0
        self.abandon()
        self.source, self.thread = source, threading.get_ident()
        self.drawing.begin_loop(by_loader=source == "loader")
        self.reset()
        self.course.restart()
        self.sampler = self.sampler.anew()

    def end_step(self, now: int, duration: int) -> None:
        """Count the step among all of the run, and its batches."""
        drawn = self.drawing.end_step(recorded=self.phase == "profile")
        ordinary = self.course.step(now, duration, profiled=self.profiler is not None, loaders=drawn)
        if ordinary and not self.sampler.begun:
            self.sampler.begin()
        if self.course.steps >= 64 and self.course.steps & (self.course.steps - 1) == 0:
            self.tell()  # a script that is ended from outside cannot tell at its end

    def epoch(self) -> int | None:
        """Steps of an epoch, by what the loader says; None where it says nothing."""
        return self.drawing.epoch(by_loader=self.source == "loader")

    def gone(self) -> int:
        """Batches of this epoch that were drawn before they were taken for steps."""
        return self.drawing.early

    def prefetched(self) -> int:
        """Batches that the loader's workers may have ready."""
        return self.drawing.prefetched()

    def workers(self) -> list[int]:
        """Processes of the loader in use."""
        return self.drawing.workers()

    def begin_recording(self) -> None:
        """Count batches anew, so that those of a recorded step can be told; what is recorded is a rank's, if it is one now."""
        self.note_job()
        self.drawing.begin_recording()
        self.inputs = ForwardInputs()
        self.marks.again = self.again.marks()

    def end(self) -> None:
        """The script is over: keep what was recorded of a window that is not full."""
        if self.pid != os.getpid():
            return
        self.sampler.end()
        self.marks.stop()
        if self.lines is not None:
            self.lines.end()
        with contextlib.suppress(*FAILURES):
            if self.profiler is not None and (self.phase == "window" or (self.phase == "profile" and self.profiled)):
                self.stop_profiler()
            elif self.profiler is not None:
                self.abandon()
            self.end_timing()
        self.profiler, self.phase, self.complete = None, "done", True
        heard = self.expected or any(self.counts.values())
        if self.exported or (heard and not self.child):  # a loader's worker has nothing to tell
            self.tell()

    # What the parent hears.

    def export(self, profiler: Any) -> None:
        """Write what was recorded, as torch writes it."""
        kind = "evidence" if self.phase == "evidence" else "raw"
        profiler.export_chrome_trace(self.path(kind))
        if kind == "raw":
            self.exported = os.path.basename(self.path("raw"))

    def tell(self) -> None:
        """Write the status file."""
        rank, size = self.note_job()
        status = {
            "pid": self.pid, "rank": rank, "world_size": size, "source": self.source, "problem": self.problem,
            "counts": self.counts, "steps": self.course.steps + (self.course.first_ns is not None),
            "skipping": self.skipping, "run": self.course.told() | {"between": self.sampler.told(), "stopped": self.stopped},
            "recorded": self.exported, "recorded_steps": len(self.profiled), "complete": self.complete,
            "evidence": os.path.exists(self.path("evidence")), "torch": "torch" in sys.modules, "retries": self.retries,
            "stacks_left_out": self.stacks_left_out, "counters_left_out": self.counters_left_out,
            "first_step": None if self.source == "time" else FIRST_STEP,
            "lines": self.lines.told() if self.lines is not None and self.lines.ended is not None else None,
            "advisor": self.figures(),
        }  # fmt: skip
        write_status(self.path("status"), status)

    def note_job(self) -> tuple[int | None, int]:
        """Rank and world size: a script may leave its group before it ends, and its rank stays what it was."""
        found = world()
        self.job = found if found[1] > 1 else self.job
        return self.job

    def describe(self) -> dict[str, Any]:
        """What the trace cannot say about its run."""
        loader = self.drawing.of_training()
        steps = {"source": self.source, "batches_per_step": batches_of_a_step(self.drawing.of_steps())}
        size = self.note_job()[1]
        return (
            describe_process(size)
            | describe_training(self.turns.lead, loader, self.look, self.untrained.told(size))
            | {
                "frameworks": describe_frameworks(loader, self.look.modules, self.running, self.arguments),
                "environment": describe_environment(),
            }
            | {"environment_changed": changed_since(self.began_with)}
            | {"steps": steps, "loader_code": loader_code(loader), "optimizer_code": self.optimizer_code.told()}
            | {"loader_made": [made] if (made := getattr(loader, "_trace_advisor_made", None)) else []}
            | ({"forward_inputs": self.inputs.told()} if self.source == "forward" else {})
            | {"computed_again": self.again.told(), "installed": installed_names()}
        )
