"""Runs a script once, with changes made from outside, and says what its steps took."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from traces.collect.guarded import surroundings
from traces.collect.guarded.process import started
from traces.collect.script.session import HOOK
from traces.collect.trace_advisor_hook.trial.guard import STOPPED
from traces.collect.tune.trial import Asked, Ending, Ran, Script
from traces.errors import UsageError
from traces.leftovers import scratch_folder

_POLL_S = 0.05
_ENDED = "the script ended"
_NO_MEMORY = re.compile(
    r"out of memory|OutOfMemoryError|can't allocate memory|MemoryError|bad_alloc|DefaultCPUAllocator", re.I
)
_LAST_BYTES = 4000
# A process that has told its result leaves at once; what it started may not.
_LEAVE_S = 3.0


def run(script: Script, asked: Asked, log: Path, stopped: Callable[[], bool] = bool) -> Ran:
    """One run, in a process of its own, in a folder of its own; nothing of it is left.

    Args:
        script: What to run.
        asked: The changes, and how much to measure.
        log: Takes what the script prints.
        stopped: Whether somebody asked it to end meanwhile.

    Raises:
        KeyboardInterrupt: Somebody did; the run is ended with its children.
        UsageError: No scratch folder can be made, or the interpreter cannot be started.
    """
    outside, begun = Path.cwd(), time.monotonic()
    with scratch_folder() as folder:
        scratch = folder.resolve()
        work = surroundings.prepare(scratch, outside)
        result, settings = scratch / "result.json", scratch / "settings.json"
        settings.write_text(json.dumps(_settings(scratch, asked, result)))
        target = script.target if script.module else str(Path(script.target).resolve())
        arguments = [surroundings.reachable(word, outside) for word in script.arguments]
        python = shutil.which(str(script.python)) if script.python is not None else sys.executable
        if python is None:
            raise UsageError(
                f"--python {script.python} is no program", fix="name an interpreter, such as env/bin/python"
            )
        words = [python, str(HOOK), str(settings), *(["-m"] if script.module else []), target, *arguments]
        with started(words, work, surroundings.environment(scratch, asked.environment), log) as process:
            late = _wait(process, result, asked.timeout_s, stopped)
            status = process.poll()  # of its own: what we kill from here on says nothing
        return _ran(scratch, result, status, asked, late, log, time.monotonic() - begun)


def _settings(scratch: Path, asked: Asked, result: Path) -> dict[str, Any]:
    """What the hook is told; what it needs for recordings only is set to nothing."""
    trial = {name: getattr(asked, name) for name in ("changes", "warmup", "steps", "least", "least_ns", "seed")}
    return {
        "folder": str(scratch), "wait": asked.warmup, "warmup": 0, "least": 1, "most": 1, "long_ns": 0, "evidence": False,
        "stop": True, "timed": asked.steps, "patience_s": asked.timeout_s, "window_s": 0.0, "stacks": False, "shapes": False,
        "trial": trial | {"result": str(result)}, "guard": surroundings.guard(scratch, Path.cwd()),
    }  # fmt: skip


def _wait(process: subprocess.Popen[bytes], result: Path, timeout_s: float, stopped: Callable[[], bool]) -> bool:
    """Until the process is over, or has told its result and had time to leave; whether that took too long."""
    until = time.monotonic() + timeout_s
    while process.poll() is None and not result.exists() and not any(result.parent.glob("stopped-*.json")):
        if stopped():
            raise KeyboardInterrupt
        if time.monotonic() > until:
            return True
        time.sleep(_POLL_S)
    with contextlib.suppress(subprocess.TimeoutExpired):  # other ranks may wait for the one that told
        process.wait(_LEAVE_S)
    return False


def _ran(scratch: Path, result: Path, status: int | None, asked: Asked, late: bool, log: Path, wall_s: float) -> Ran:
    told: dict[str, Any] = json.loads(result.read_bytes()) if result.exists() else {}
    times = told.get("times_ns", [])
    measured = {
        "times_ns": tuple(times),
        "step_ns": (sum(times) + told["behind_ns"]) / len(times) if times else 0.0,
        "lacked_ns": told["lacked_ns"] / len(times) if times and told["lacked_ns"] is not None else None,
        "setup_ns": told.get("setup_ns", 0),
        "steps_before": told.get("steps_before", 0),
        "epoch_steps": told.get("epoch_steps") or None,
        "losses": tuple(told.get("losses", ())),
        "applied": told.get("applied", {}),
        "refused": told.get("refused", {}),
        "calls": told.get("calls", {}),
        "source": told.get("source", ""),
    }
    ending, reason = _ending(scratch, told, status or 0, asked, late, log)
    return Ran(ending=ending, reason=reason, status=status or 0, wall_s=wall_s, **measured)


def _ending(
    scratch: Path, told: dict[str, Any], status: int, asked: Asked, late: bool, log: Path
) -> tuple[Ending, str]:
    """How the run ended, and why."""
    steps = len(told.get("times_ns", ()))
    if told and steps >= asked.least and (not told["why"] or told["why"].startswith(("stopped", _ENDED))):
        return "measured", ""
    stopped = next((json.loads(path.read_bytes()) for path in scratch.glob("stopped-*.json")), None)
    if stopped is not None or status == STOPPED:
        where = stopped["path"] if stopped is not None else "outside its scratch folder"
        return "stopped", f"it was about to write {where} after {_steps(told)}"
    if late:
        return "timed out", f"it did not come to its end within {asked.timeout_s:.0f} s"
    said = _last_line(log)
    failure = told.get("why", "")
    if _NO_MEMORY.search(f"{failure} {said}") or status == -9:
        return "no memory", failure or said or "it was killed, as the system does where memory runs out"
    if failure == _ENDED and status:
        failure = ""
    if failure == _ENDED or (status == 0 and not failure):
        return "short", f"the script ended after {_steps(told)}; {asked.warmup + asked.least} are needed"
    return "failed", failure or f"it ended with status {status}: {said}".rstrip(": ")


def _steps(told: dict[str, Any]) -> str:
    steps = len(told.get("times_ns", ()))
    return f"{steps} timed step{'' if steps == 1 else 's'}"


def _last_line(log: Path) -> str:
    """The last line that the script printed, which of a failure is the one that says what."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LAST_BYTES))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else ""
