"""What to record of a script, and what came of it: plain values, no torch."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from traces.collect.recorder.window import UNPROFILED_STEPS
from traces.collect.script.arguments import shareable

# Where steps are found, the best last.
_SOURCES = ("time", "forward", "loader", "backward", "optimizer")


@dataclass(frozen=True, kw_only=True)
class ScriptConfig:
    """Which script to run and what to record of it.

    Args:
        target: A script's path, a module's name, or a program: a launcher, `python` itself, a shell script.
        module: Whether `target` is a module, as after `python -m`.
        program: Whether `target` is a program, of which the Python processes that it starts are recorded.
        arguments: The script's own arguments; only what is on the list of `traces.collect.script.arguments` is recorded.
        python: The interpreter to run it with; None for this one.
        output: File to write; where there are several ranks, a folder of that name with a file for each.
        compress_from: Bytes from which on a recording is compressed, .gz put behind its name; None to keep the name as it is.
        wait: Steps to skip at least; fewer where the loader shows that an epoch has few.
        warmup: Steps the profiler runs without keeping events.
        active: Steps to record; None for as many as are short.
        stacks: Record Python frames.
        shapes: Record the shapes of operator inputs.
        counters: Sample the device's `clocks`, or the `activity` of its units, which locks the clock; empty for none.
        modules: Mark calls of modules; with `shapes` they are marked where that costs little.
        stop: End the script once all is recorded.
        evidence: Record two more steps with stacks and shapes, for where and never for how much.
        timed: Steps to time with the profiler off.
        patience_s: How long to wait for a step before two seconds are recorded without any.
        window_s: How long such a recording is.
        guarded: Run it where it cannot change anything of the user's, for so many seconds at most; None to run it as it is.
        log: Takes what a guarded script prints.
    """

    target: str
    module: bool = False
    program: bool = False
    arguments: tuple[str, ...] = ()
    python: Path | None = None
    output: Path = Path("trace.json")
    compress_from: int | None = None
    wait: int = 10
    warmup: int = 3
    active: int | None = None
    stacks: bool = False
    shapes: bool = False
    counters: str = ""
    modules: bool = False
    stop: bool = False
    evidence: bool = False
    timed: int = UNPROFILED_STEPS
    patience_s: float = 30.0
    window_s: float = 2.0
    guarded: float | None = None
    log: Path = Path(os.devnull)

    def command(self) -> list[str]:
        """The command that records this again, without folders, and arguments as far as they can hold no secret."""
        words = ["advisor", "collect"]
        words += [f"--{name}" for name in ("stacks", "shapes", "modules", "stop", "evidence") if getattr(self, name)]
        words += ["--counters", self.counters] if self.counters else []
        if self.program:
            return [*words, "--", Path(self.target).name, *self._shareable()]
        words += ["-m", self.target] if self.module else [Path(self.target).name]
        return words + (["--", *self._shareable()] if self.arguments else [])

    def script(self) -> dict[str, Any]:
        """The script, for commands that are suggested: its name without folders, and what of its arguments may be handed on."""
        target = f"-m {self.target}" if self.module else Path(self.target).name
        return {"target": target, "arguments": self._shareable()} | ({"program": True} if self.program else {})

    def scripts(self) -> list[Path]:
        """The Python files that are named: the script, or those among a launcher's arguments."""
        found = [Path(word) for word in (self.target, *self.arguments) if word.endswith(".py")]
        return [path for path in found if path.is_file()] or (
            [] if self.module or self.program else [Path(self.target)]
        )

    def _shareable(self) -> list[str]:
        """The arguments as far as they can hold no secret."""
        return shareable(self.arguments, launcher=self.program or self.module)


@dataclass(frozen=True)
class Verdict:
    """What the grading says of one file: whether advice may be based on it, why not, and whether later steps may be better."""

    usable: bool
    message: str = ""
    again: bool = False


@dataclass(frozen=True)
class Recording:
    """One file that was written.

    Args:
        path: The file.
        events: Trace events in it.
        steps: Step marks in it.
        bytes: Its size on disk.
        source: What steps were found from: optimizer, backward, loader, forward or time.
        profiled_step_ns: Median step with the profiler on; None where there are no steps.
        unprofiled_step_ns: Median step with it off; None where the script ended before.
        verdict: The grading's.
        full: Whether it holds as many steps as a recording needs: the script's end did not cut it short.
        stacks_left_out: Whether stacks were asked for that the script's torch cannot record.
        counters_left_out: Why counters that were asked for were not sampled; empty where they were, or none were.
        evidence_left_out: Whether the steps with stacks that were asked for beside it were not recorded.
        not_there: Why the file is not where it was to be, but in the folder for temporary files; empty where it is.
    """

    path: Path
    events: int
    steps: int
    bytes: int
    source: str
    profiled_step_ns: int | None
    unprofiled_step_ns: int | None
    verdict: Verdict
    full: bool = True
    stacks_left_out: bool = False
    counters_left_out: str = ""
    evidence_left_out: bool = False
    not_there: str = ""

    @property
    def worth(self) -> tuple[int, bool, bool, bool, int]:
        """What makes one of two recordings the better one: where its steps come from, its grade, and how many they are.

        One that the script's end cut short is no better for what may have passed: too few steps tell nothing.
        """
        return _SOURCES.index(self.source), self.verdict.usable, self.full, not self.verdict.again, self.steps


@dataclass
class ScriptResult:
    """How the script ended and what was written.

    Args:
        status: The script's exit status, as a shell would say it.
        recordings: What was written, by rank.
        problem: Why nothing was written, where nothing was.
        fix: What to do about it.
        untouched: Whether that is because it ended before any forward pass, batch or step of an optimizer.
        folder: Where the files of several ranks lie together.
        set_aside: Older files at the places of new ones that were not written, by their new names.
    """

    status: int = 0
    recordings: list[Recording] = field(default_factory=list)
    problem: str = ""
    fix: str = ""
    untouched: bool = False
    folder: Path | None = None
    set_aside: list[Path] = field(default_factory=list)
