"""Record any training script, unchanged: start it through the hook, take what that leaves, grade it meanwhile."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from traces.collect.guarded import surroundings
from traces.collect.guarded.process import started
from traces.collect.output import SCHEMA_VERSION
from traces.collect.output.cores import describe_cores
from traces.collect.output.files import write_atomically
from traces.collect.output.hand_over import hand_over
from traces.collect.output.sanitize import clean_trace
from traces.collect.recorder.window import window_of
from traces.collect.script.before import check
from traces.collect.script.config import Recording, ScriptConfig, ScriptResult, Verdict
from traces.collect.script.evidence import where_table
from traces.collect.script.installed import seen_of
from traces.collect.script.launching import interpreted, launching
from traces.collect.script.lines import line_samples, made_rows, own_rows
from traces.collect.script.outputs import Outputs
from traces.collect.script.process import Say, left_to_the_script, left_unsaid
from traces.collect.script.unrecorded import MORE_ROOM, explain
from traces.collect.script.whole_run import WHOLE, course, write_course
from traces.errors import UsageError
from traces.leftovers import scratch_folder

HOOK = Path(__file__).parents[1] / "trace_advisor_hook" / "__main__.py"
_POLL_S = 0.1

__all__ = ["Judge", "Recording", "ScriptConfig", "ScriptResult", "Verdict", "collect_script"]

Judge = Callable[[Path], Verdict]

_MORE_ROOM_FOR_A_RUN = "make room there, or name another folder with --folder"


def collect_script(config: ScriptConfig, judge: Judge, say: Say = left_unsaid) -> ScriptResult:
    """Run the script to its end and record some of its steps on the way.

    Args:
        config: What to run and record.
        judge: Grades a written file; asked while the script goes on, so that a poor recording can be made again.
        say: Told, while the script runs, what the person at the terminal has to know.

    Raises:
        UsageError: The script, the interpreter or the output cannot be used.
    """
    python = check(config)
    with scratch_folder() as scratch:
        run = _Run(config, judge, scratch)
        settings = scratch / "settings.json"
        told = _settings(config) | {"folder": str(scratch)}
        if config.guarded is not None:
            told["guard"] = surroundings.guard(scratch.resolve(), Path.cwd())
        settings.write_text(json.dumps(told))
        with run.outputs.older_set_aside(), _begun(config, python, settings, scratch, say) as process:
            _taken(run, process, config.guarded)
            run.take(complete=False)
        result = run.result(process.returncode)
        result.set_aside = run.outputs.set_aside
        return result


@contextlib.contextmanager
def _begun(
    config: ScriptConfig, python: str, settings: Path, scratch: Path, say: Say
) -> Iterator[subprocess.Popen[bytes]]:
    """The script's process: as a person starts it, or guarded."""
    if config.program:
        with left_to_the_script(say) as begun:
            yield begun.begin([*interpreted(python), *config.arguments], launching(str(settings), config.python))
        return
    hook = [python, str(HOOK), str(settings)]
    module = ["-m"] if config.module else []
    if config.guarded is None:
        with left_to_the_script(say) as begun:
            yield begun.begin([*hook, *module, config.target, *config.arguments])
        return
    outside = Path.cwd()
    work = surroundings.prepare(scratch.resolve(), outside)
    target = config.target if config.module else str(Path(config.target).resolve())
    words = [*hook, *module, target, *(surroundings.reachable(word, outside) for word in config.arguments)]
    with started(words, work, surroundings.environment(scratch.resolve(), {}), config.log) as process:
        yield process


def _taken(run: _Run, process: subprocess.Popen[bytes], most_s: float | None) -> None:
    """Take what is recorded until the script is over, or has had its time."""
    until = None if most_s is None else time.monotonic() + most_s
    while until is None or time.monotonic() < until:
        try:
            process.wait(_POLL_S)
            return
        except subprocess.TimeoutExpired:
            run.take(complete=True)
    process.kill()
    process.wait()


def _settings(config: ScriptConfig) -> dict[str, Any]:
    """What the hook is told."""
    names = ("wait", "warmup", "stacks", "shapes", "counters", "stop", "evidence", "timed", "patience_s", "window_s")
    # Stacks hold modules already.
    marked = "" if config.stacks else "always" if config.modules else "cheap" if config.shapes else ""
    told = {name: getattr(config, name) for name in names} | {"modules": marked, "program": config.program}
    return told | window_of(config.active).settings()


class _Run:
    """One run of a script: its processes' status files become recordings."""

    def __init__(self, config: ScriptConfig, judge: Judge, folder: Path) -> None:
        self.config = config
        self.judge = judge
        self.folder = folder
        self.taken: dict[tuple[int, int, str], Recording | None] = {}
        self.outputs = Outputs(config)
        self.names = self.outputs.names
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
        advisor = {"schema_version": SCHEMA_VERSION, "command": self.config.command(), **status["advisor"]}
        advisor |= {"script": self.config.script(), "non_blocking": None, **describe_cores()}
        advisor["run"] = course(status["run"], Path.cwd()) if status["source"] in WHOLE else None
        if status["evidence"]:
            advisor["where"] = where_table(self.folder / f"evidence-{status['pid']}.json", self.roots())
        if status["lines"]:
            workers = sorted(self.folder.glob(f"lines-{status['pid']}-*.json"))
            advisor["lines"] = line_samples(status["lines"], workers, self.roots())
        advisor["loader_code"] = own_rows(status["advisor"].get("loader_code", []), self.roots())
        again = status["advisor"].get("computed_again")
        advisor["computed_again"] = None if again is None else own_rows(again, self.roots())
        advisor |= hand_over(advisor)
        for key in ("optimizer_code", "loader_made"):
            advisor[key] = made_rows(status["advisor"].get(key, []), self.roots())
        try:
            raw = (self.folder / status["recorded"]).read_bytes()
            names = advisor.pop("installed", None)
            if names is not None and self.config.stacks:  # without, there is no frame to be told whose it is
                advisor["installed"] = seen_of(names, raw)
            clean = clean_trace(raw, advisor, Path.cwd(), status["recorded_steps"], status["first_step"])
        except (OSError, msgspec.DecodeError) as error:
            self.broken = (
                f"the profiler left no whole trace ({error}): the disk may be full, or a limit on file sizes be set"
            )
            return None
        try:
            path = self.outputs.name(status, len(clean.content))
            earlier = self.kept().get(path)
            # A second look may be poorer than the first, or cut short: it takes the name only once that is known.
            first = path if earlier is None else self.folder / path.name
            # A later one replaces it where it is kept.
            not_there = earlier.not_there if earlier is not None else ""
            try:
                size = write_atomically(first, clean.content)
            except UsageError as error:
                # The script may have run for hours: what it gave is kept where there is room, if not where it was asked for.
                alone = earlier is None and self.config.guarded is None
                there = self.outputs.kept_elsewhere(status, clean.content) if alone else None
                if there is None:
                    raise
                (path, size), not_there = there, error.what
                first = path
            timing = status["advisor"]
            recording = Recording(
                path, clean.events, clean.steps, size, status["source"],
                timing["profiled_step_ns"], timing["unprofiled_step_ns"], self.judge(first),
                clean.steps >= window_of(self.config.active).least, status["stacks_left_out"],
                str(status.get("counters_left_out", "")), self.config.evidence and not status["evidence"], not_there,
            )  # fmt: skip
            if earlier is not None and earlier.worth <= recording.worth:
                write_atomically(path, clean.content)
        except UsageError as error:  # the script is still running, and goes on
            self.broken = error.what
            # Who runs it guarded names no file, but a folder for the whole run.
            self.fix = (error.fix or "") if self.config.guarded is None else _MORE_ROOM_FOR_A_RUN
            return None
        return recording

    def roots(self) -> tuple[Path, ...]:
        """Folders of the user's own code."""
        return (Path.cwd(), *(path.resolve().parent for path in self.config.scripts()))

    def finish(self, recordings: list[Recording]) -> None:
        """Say in each file how the run went on after it was written: only now is that known."""
        written = {(one.path, one.source) for one in recordings if one.source in WHOLE}
        for status in self.statuses():
            path = self.names.get(status["pid"])
            if path is not None and (path, status["source"]) in written:
                with contextlib.suppress(OSError, msgspec.DecodeError, UsageError):  # it is whole without
                    write_course(path, course(status["run"], Path.cwd()))

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
        self.finish(recordings)
        result = ScriptResult(returncode if returncode >= 0 else 128 - returncode, recordings)
        if not recordings:
            found = explain(self.config, self.folder, self.statuses(), result.status)
            result.problem, result.fix = (self.broken, self.fix or MORE_ROOM) if self.broken else found
            result.untouched = not self.broken and _untouched(self.statuses())
        result.folder = self.outputs.common_folder([one.path for one in recordings])
        return result


def _untouched(said: list[dict[str, Any]]) -> bool:
    """Whether the script ended before it called a model, a loader or an optimizer, as `--help` does."""
    return bool(said) and not any(one["problem"] or any(one["counts"].values()) for one in said)


def _with_steps(recordings: list[Recording]) -> list[Recording]:
    """Without the windows of time of processes that only wait for others, such as a launcher's whose ranks train."""
    working = [one for one in recordings if one.source != "time"] or [one for one in recordings if one.verdict.usable]
    if not working:
        return recordings
    for one in recordings:
        if one not in working:
            one.path.unlink(missing_ok=True)
    return working
