"""Record any training script, unchanged: start it through the hook file, take what that leaves, grade it meanwhile."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from traces.collect.cores import describe_cores
from traces.collect.evidence import where_table
from traces.collect.output import check_writable, write_atomically
from traces.collect.sanitize import clean_trace
from traces.collect.script_config import Recording, ScriptConfig, ScriptResult, Verdict
from traces.collect.window import LONG_NS, window_of
from traces.errors import UsageError

HOOK = Path(__file__).with_name("trace_advisor_hook.py")
_SCHEMA_VERSION = "1.0"
_POLL_S = 0.1
# A shell's status of a program that a signal ended: this and the signal's number.
_BY_SIGNAL = 128
_MORE_ROOM = "make room, set TMPDIR to another folder, and try again"

__all__ = ["Judge", "Recording", "ScriptConfig", "ScriptResult", "Verdict", "collect_script"]

Judge = Callable[[Path], Verdict]


def collect_script(config: ScriptConfig, judge: Judge) -> ScriptResult:
    """Run the script to its end and record some of its steps on the way.

    Args:
        config: What to run and record.
        judge: Grades a written file; asked while the script goes on, so that a poor recording can be made again.

    Raises:
        UsageError: The script, the interpreter or the output cannot be used.
    """
    python = _check(config)
    with tempfile.TemporaryDirectory(prefix="advisor-") as scratch:
        run = _Run(config, judge, Path(scratch))
        settings = Path(scratch) / "settings.json"
        settings.write_text(json.dumps(_settings(config) | {"folder": scratch}))
        words = [*(["-m"] if config.module else []), config.target, *config.arguments]
        with _left_to_the_script() as started:
            process = subprocess.Popen([python, str(HOOK), str(settings), *words])
            started.append(process)
            while True:
                try:
                    process.wait(_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    run.take(complete=True)
            run.take(complete=False)
        return run.result(process.returncode)


def _settings(config: ScriptConfig) -> dict[str, Any]:
    """What the hook is told."""
    names = ("wait", "warmup", "stacks", "shapes", "stop", "evidence", "timed", "patience_s", "window_s")
    window = window_of(config.active)
    return {name: getattr(config, name) for name in names} | {
        "least": window.least,
        "most": window.most,
        "long_ns": LONG_NS,
    }


def _check(config: ScriptConfig) -> str:
    """The interpreter; raises UsageError for what can be known before anything runs."""
    check_writable(config.output)
    for name, least in (("wait", 0), ("warmup", 0), ("active", 1)):
        value = getattr(config, name)
        if value is not None and value < least:
            raise UsageError(
                f"--{name} must be at least {least}, not {value}", fix=f"leave --{name} out, or give a larger number"
            )
    if not config.module and not Path(config.target).is_file():
        what = "is a folder, not a script" if Path(config.target).is_dir() else "does not exist"
        raise UsageError(
            f"the script {config.target} {what}",
            fix="name a Python file, or a module: advisor collect -m package.train",
        )
    if config.python is not None:
        found = shutil.which(str(config.python))
        if found is None:
            raise UsageError(
                f"--python {config.python} is no program", fix="name an interpreter, such as env/bin/python"
            )
        return found
    if importlib.util.find_spec("torch") is None:
        raise UsageError(
            "torch is not installed beside advisor",
            fix="name the interpreter of the script's environment with --python, or pip install 'trace-advisor[collect]'",
        )
    return sys.executable


@contextmanager
def _left_to_the_script() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Ctrl-C reaches the script from the terminal, so we only wait for it; a request to end is passed on."""
    started: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _: Any) -> None:
        for process in started:
            process.send_signal(number)

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on),
    }
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Run:
    """One run of a script: its processes' status files become recordings."""

    def __init__(self, config: ScriptConfig, judge: Judge, folder: Path) -> None:
        self.config = config
        self.judge = judge
        self.folder = folder
        self.taken: dict[tuple[int, int, str], Recording | None] = {}
        self.names: dict[int, Path] = {}
        self.broken = ""
        self.fix = ""

    def statuses(self) -> list[dict[str, Any]]:
        """What each process said last, by rank."""
        found = [json.loads(path.read_bytes()) for path in self.folder.glob("status-*.json")]
        return sorted(found, key=lambda status: (status["rank"] or 0, status["pid"]))

    def take(self, complete: bool) -> None:
        """Write and grade what is recorded; only what is complete, while the script still runs."""
        for status in self.statuses():
            key = (status["pid"], status["retries"], status["source"])
            if not status["recorded"] or (complete and not status["complete"]) or key in self.taken:
                continue
            recording = self.write(status)
            self.taken[key] = recording
            # One rank alone would record other steps than the rest, which nobody can compare: only where nothing is lost by it.
            alone = status["world_size"] == 1
            again = recording is not None and recording.verdict.again and (alone or not recording.verdict.usable)
            (self.folder / f"verdict-{status['pid']}.json").write_text("again" if again else "good")

    def write(self, status: dict[str, Any]) -> Recording | None:
        """Rewrite what a process exported, and grade it; None where the export is broken."""
        advisor = {"schema_version": _SCHEMA_VERSION, "command": self.config.command(), **status["advisor"]}
        profiler = {"wait": self.config.wait, "warmup": self.config.warmup, "active": status["recorded_steps"]}
        advisor |= {"profiler": profiler, "non_blocking": None, **describe_cores()}
        if status["evidence"]:
            advisor["where"] = where_table(self.folder / f"evidence-{status['pid']}.json", self.roots())
        try:
            raw = (self.folder / status["recorded"]).read_bytes()
            clean = clean_trace(raw, advisor, Path.cwd(), status["recorded_steps"], status["first_step"])
        except (OSError, msgspec.DecodeError) as error:
            self.broken = (
                f"the profiler left no whole trace ({error}): the disk may be full, or a limit on file sizes be set"
            )
            return None
        path = self.name(status)
        earlier = self.kept().get(path)
        # A second look may be poorer than the first, or cut short: it takes the name only once that is known.
        first = path if earlier is None else self.folder / path.name
        try:
            size = write_atomically(first, clean.content)
            timing = status["advisor"]
            recording = Recording(
                path, clean.events, clean.steps, size, status["source"],
                timing["profiled_step_ns"], timing["unprofiled_step_ns"], self.judge(first),
            )  # fmt: skip
            if earlier is not None and earlier.worth <= recording.worth:
                write_atomically(path, clean.content)
        except UsageError as error:  # the script is still running, and goes on
            self.broken, self.fix = error.what, error.fix or ""
            return None
        return recording

    def roots(self) -> tuple[Path, ...]:
        """Folders of the user's own code."""
        return (Path.cwd(),) if self.config.module else (Path.cwd(), Path(self.config.target).resolve().parent)

    def name(self, status: dict[str, Any]) -> Path:
        """The file of a process: with its rank, or a number where several processes have none."""
        output = self.config.output
        if status["rank"] is not None and status["world_size"] > 1:
            path = _insert(output, f"rank{status['rank']}")
        else:
            others = set(self.names) - {status["pid"]}
            path = _insert(output, str(len(others) + 1)) if others else output
        return self.names.setdefault(status["pid"], path)

    def kept(self) -> dict[Path, Recording]:
        """The best recording of each file so far; of equals the later."""
        found: dict[Path, Recording] = {}
        for recording in self.taken.values():
            if recording is not None and (
                recording.path not in found or found[recording.path].worth <= recording.worth
            ):
                found[recording.path] = recording
        return found

    def result(self, returncode: int) -> ScriptResult:
        """Everything, now that the script is over."""
        recordings = _with_steps(list(self.kept().values()))
        result = ScriptResult(returncode if returncode >= 0 else 128 - returncode, recordings)
        if not recordings:
            result.problem, result.fix = self.explain(result.status)
        return result

    def explain(self, status: int) -> tuple[str, str]:
        """Why nothing was recorded, and what to do."""
        said = self.statuses()
        least = window_of(self.config.active).least
        needed = self.config.wait + self.config.warmup + least
        steps = max((max(one["counts"].values()) for one in said), default=0)
        problem = self.broken or next((one["problem"] for one in said if one["problem"]), "")
        if problem:
            fix = (
                "take the profiler out of the script, or run it without one" if "profiler of its own" in problem else ""
            )
            return problem, self.fix or fix or _MORE_ROOM
        if not said:
            # The trace is written first, and what tells of it then finds no room.
            if any(self.folder.glob("raw-*")):
                return f"there was no room for the recording in {tempfile.gettempdir()}", _MORE_ROOM
            return _without_a_word(status)
        if status == _BY_SIGNAL + signal.SIGINT:
            return f"the script was interrupted after {steps} steps, before enough were recorded", "let it run longer"
        if status:
            return (
                f"the script ended with status {status} after {steps} steps, before enough were recorded",
                "see above why",
            )
        if not any(one["torch"] for one in said):
            return (
                "the script never imported torch",
                "name the script that trains, not one that starts it by other means",
            )
        if not steps:
            return (
                "no training loop was found: no optimizer stepped and no DataLoader gave a batch",
                "mark the steps in the script: `with traces.collect.record('trace.json') as recorder:` and `recorder.step()`",
            )
        return (
            f"the script ended after {steps} steps; a recording needs {needed} "
            f"(wait {self.config.wait} + warmup {self.config.warmup} + active {least})",
            "let it run longer, or use a smaller --wait, --warmup or --active",
        )


def _without_a_word(status: int) -> tuple[str, str]:
    """What is known of a process that ended before it could write anything."""
    if status > _BY_SIGNAL:
        with contextlib.suppress(ValueError):
            name = signal.Signals(status - _BY_SIGNAL).name
            return (
                f"the script was ended by {name} before a recording was complete",
                "where nobody sent it, memory may be short: use smaller batches or fewer workers, and try again",
            )
    return (
        f"the script's process ended with status {status} before its recording began to be written",
        "run it alone first and see whether it ends well; if it does, let it run longer or use a smaller --wait",
    )


def _with_steps(recordings: list[Recording]) -> list[Recording]:
    """Without the windows of time of processes that only wait for others, such as a launcher's whose ranks train."""
    idle = [one for one in recordings if one.source == "time"]
    if len(idle) == len(recordings):
        return recordings
    for one in idle:
        one.path.unlink(missing_ok=True)
    return [one for one in recordings if one.source != "time"]


def _insert(path: Path, part: str) -> Path:
    """`a/trace.json.gz` and `rank0` -> `a/trace.rank0.json.gz`."""
    stem, dot, suffixes = path.name.partition(".")
    return path.with_name(f"{stem}.{part}{dot}{suffixes}")
