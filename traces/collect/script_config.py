"""What to record of a script, and what came of it: plain values, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

# Where steps are found, the best last.
_SOURCES = ("time", "loader", "optimizer")


@dataclass(frozen=True, kw_only=True)
class ScriptConfig:
    """Which script to run and what to record of it.

    Args:
        target: A script's path, or a module's name.
        module: Whether `target` is a module, as after `python -m`.
        arguments: The script's own arguments; never recorded.
        python: The interpreter to run it with; None for this one.
        output: File to write; the rank is put into its name where there are several.
        wait: Steps to skip at least; fewer where the loader shows that an epoch has few.
        warmup: Steps the profiler runs without keeping events.
        active: Steps to record; None for as many as are short.
        stacks: Record Python frames.
        shapes: Record the shapes of operator inputs.
        stop: End the script once all is recorded.
        evidence: Record two more steps with stacks and shapes, for where and never for how much.
        timed: Steps to time with the profiler off.
        patience_s: How long to wait for a step before two seconds are recorded without any.
        window_s: How long such a recording is.
    """

    target: str
    module: bool = False
    arguments: tuple[str, ...] = ()
    python: Path | None = None
    output: Path = Path("trace.json")
    wait: int = 10
    warmup: int = 3
    active: int | None = None
    stacks: bool = False
    shapes: bool = False
    stop: bool = False
    evidence: bool = False
    timed: int = 20
    patience_s: float = 30.0
    window_s: float = 2.0

    def command(self) -> list[str]:
        """The command that records this again, without the script's arguments and folders: they may hold secrets."""
        words = ["advisor", "collect"]
        words += [f"--{name}" for name in ("stacks", "shapes", "stop", "evidence") if getattr(self, name)]
        words += ["-m", self.target] if self.module else [Path(self.target).name]
        return words + (["--", "..."] if self.arguments else [])


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
        source: What steps were found from: optimizer, loader or time.
        profiled_step_ns: Median step with the profiler on; None where there are no steps.
        unprofiled_step_ns: Median step with it off; None where the script ended before.
        verdict: The grading's.
    """

    path: Path
    events: int
    steps: int
    bytes: int
    source: str
    profiled_step_ns: int | None
    unprofiled_step_ns: int | None
    verdict: Verdict

    @property
    def worth(self) -> tuple[int, bool, bool, int]:
        """What makes one of two recordings the better one: where its steps come from, its grade, and how many they are."""
        return _SOURCES.index(self.source), self.verdict.usable, not self.verdict.again, self.steps


@dataclass
class ScriptResult:
    """How the script ended and what was written.

    Args:
        status: The script's exit status, as a shell would say it.
        recordings: What was written, by rank.
        problem: Why nothing was written, where nothing was.
        fix: What to do about it.
    """

    status: int = 0
    recordings: list[Recording] = field(default_factory=list)
    problem: str = ""
    fix: str = ""
