"""Times some steps of a script after a warm-up, notes their losses, and ends the script."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Any

from ..common import FAILURES
from ..status import write_status
from ..steps.step_times import wait_for_devices
from ..watcher import PREFERENCE, Watcher
from .crowd import Crowd
from .losses import Losses
from .switches import collect_less

# What a shell never says of a program by itself: the trial is over and has told what it found.
OVER = 0


class TrialWatcher(Watcher):
    """Lets the warm-up pass, times as many steps as are asked for, writes what it measured, and ends the process.

    Args:
        settings: Those of the hook; `trial` holds the changes, the warm-up, how many steps to time, for how long, and the file.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.trial: dict[str, Any] = settings["trial"]
        self.told = False
        self.losses = Losses()
        self.begun_ns = 0
        self.started_ns = time.perf_counter_ns()
        self.setup_ns = 0
        self.crowd: Crowd | None = None
        self.notes: dict[str, Any] = {"applied": {}, "refused": {}, "calls": {}}
        super().__init__(settings)

    def begin_process(self) -> None:
        """Start from nothing; a child that the script forks tells nothing."""
        self.told = self.pid != 0
        super().begin_process()

    def launched(self) -> None:
        """Of what the script starts, only a rank tells what the trial measures."""
        super().launched()
        self.told = not self.expected

    def in_skip(self, duration: int) -> None:
        """Start-up costs, compiling and filling queues are no part of a step."""
        if self.number < self.trial["warmup"] or PREFERENCE[self.source] < PREFERENCE["loader"]:
            return
        if "collector" in self.trial["changes"]:
            collect_less(self.trial["changes"]["collector"], self.notes)
        wait_for_devices()
        self.phase, self.setup_ns = "time", time.perf_counter_ns() - self.started_ns
        self.crowd = Crowd()
        self.begun_ns = time.perf_counter_ns()
        self.last = self.begun_ns

    def in_time(self, duration: int) -> None:
        """A step more; after the last of them the trial is over."""
        self.timed.append(duration)
        if self.crowd is not None:
            self.crowd.saw(bool(self.workers()))
        least_ns = self.trial["least_ns"]
        long_enough = 0 < least_ns <= time.perf_counter_ns() - self.begun_ns
        if len(self.timed) >= self.trial["steps"] or (long_enough and len(self.timed) >= self.trial["least"]):
            self.leave("")

    def leave(self, why: str) -> None:
        """Write what was measured and end the process at once: nothing of the script's runs any more, no file is saved.

        Args:
            why: What ended it before its time; empty where it is complete.
        """
        if not self.told and os.getpid() == self.pid and (self.timed or why):
            self.write(why)
            sys.stdout.flush()
            os._exit(OVER)

    def write(self, why: str) -> None:
        """Leave what was measured where the parent looks for it; of several ranks the first tells."""
        self.told = True
        lacked_ns = self.crowd.lacked_ns() if self.crowd is not None else None
        behind = wait_for_devices()
        if os.environ.get("RANK", "0") != "0":
            return
        wall = time.perf_counter_ns() - self.begun_ns if self.begun_ns else 0
        told = {
            "times_ns": self.timed, "wall_ns": wall, "behind_ns": behind, "lacked_ns": lacked_ns,
            "setup_ns": self.setup_ns, "source": self.source, "epoch_steps": self.epoch(),
            "steps_before": self.trial["warmup"], "losses": self.losses.values(), "why": why, "counts": self.counts, **self.notes,
        }  # fmt: skip
        write_status(self.trial["result"], told)

    def end(self) -> None:
        """The script is over: tell what there is of it."""
        if self.pid != os.getpid() or self.told or threading.current_thread() is not threading.main_thread():
            return
        with contextlib.suppress(*FAILURES):
            error = sys.exc_info()[1]
            failed = error is not None and not isinstance(error, SystemExit)
            self.write(f"{type(error).__name__}: {error}"[:500] if failed else "the script ended")

    def tell(self) -> None:
        """A trial has no status between."""
