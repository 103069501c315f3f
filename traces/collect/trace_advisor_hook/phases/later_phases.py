"""What follows the recording and the timing: a second pass with stacks, a third that samples lines, and the parent's verdict."""

from __future__ import annotations

import os
import time
from typing import Any

from ..common import FAILURES, StopScript
from ..sampling.line_phase import LinePass
from ..status import read_word
from .phases import Phases


class LaterPhases(Phases):
    """Looks once more where that is asked for, then waits to hear whether what was recorded is good."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.pid = 0
        self.stopped = False
        self.lines: LinePass | None = None

    def tell(self) -> None:
        """Let the parent know how far things are."""
        raise NotImplementedError

    def after_recording(self) -> None:
        """The steps are in the file: the parent may look."""
        self.tell()

    def loop_over(self) -> None:
        """The loop that is recorded is over: its steps are kept where they are enough, or the loop that follows is recorded.

        Left open, the recording would grow to the end of the script.
        """
        try:
            if len(self.profiled) >= self.settings["least"]:
                self.end_recording()
            else:
                self.abandon()
                self.reset()
        except FAILURES as error:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Nothing more is recorded; the script goes on."""
        self.problem = f"{type(error).__name__}: {error}"[:500]
        self.phase, self.profiler = "done", None
        self.marks.stop()
        self.tell()

    def after_timing(self) -> None:
        """A second pass where it was asked for, then the verdict."""
        self.phase = "verdict"
        if self.settings["evidence"]:
            self.start_profiler(1, True, True)
            self.phase, self.number = "evidence", 0
        else:
            self.finish()

    def in_evidence(self, duration: int) -> None:
        """A second pass with stacks and shapes, to see where; never to see how much."""
        if self.number < 3:
            self.profiler.step()
        else:
            self.marks.stop()
            self.profiler.stop()
            self.profiler, self.phase, self.lines = None, "lines", LinePass(self.settings["folder"])

    def in_cut(self, duration: int) -> None:
        """The second pass gave way to a profiler of the script's own: there is none."""
        self.phase = "verdict"
        self.finish()

    def in_lines(self, duration: int) -> None:
        """A third pass without the profiler, in which lines are sampled."""
        if self.lines is not None and self.lines.over(duration):
            self.phase = "verdict"
            self.finish()

    def finish(self) -> None:
        """All is recorded. The parent grades it; with `--stop` there is nothing to do but wait for that."""
        self.complete = True
        self.tell()
        if self.settings["stop"] and self.source != "forward":  # which may be what comes before training
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and self.verdict() is None:
                time.sleep(0.02)
            self.in_verdict(0)
            if self.phase == "done":
                self.stopped = True
                raise StopScript(0)

    def in_verdict(self, duration: int) -> None:
        """Record once more if the parent asks for it."""
        verdict = self.verdict()
        if verdict == "again" and not self.retries:
            self.retries, self.skip = 1, 3 * self.skip
            os.remove(self.path("verdict"))
            self.reset()
        elif verdict is not None or self.number > 100_000:
            self.phase = "done"

    def path(self, kind: str) -> str:
        """A file of this process in the shared folder."""
        return os.path.join(self.settings["folder"], f"{kind}-{self.pid}.json")

    def verdict(self) -> str | None:
        """What the parent said of the recording, None so far."""
        return read_word(self.path("verdict"))
