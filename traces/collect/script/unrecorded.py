"""Why nothing of a script was recorded, and what to do about it."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import tempfile
from pathlib import Path
from typing import Any

from traces.collect.recorder.window import window_of
from traces.collect.script.config import ScriptConfig
from traces.ending import BY_SIGNAL

MORE_ROOM = "make room, set TMPDIR to another folder, and try again"
_BESIDE = "let it write relative to the folder it is started in, or leave saving out with an argument of its own"
_CRASHES = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV")
_OWN_PROFILER = "explain the trace that it writes itself, or run it without its profiler"
_LEAST_WAIT = 2
# With which it is sure that one is recorded: where steps differ in length three times as many are skipped, one warms up, and one
# more ends what is recorded.
_FEW_STEPS = 3 * _LEAST_WAIT + 1 + 1
# What the hook counts, by what a person calls it.
_COUNTED = {"loader": "batch", "backward": "backward pass", "optimizer": "optimizer step"}
# Runs wherever torch does: the environment of the script need not have this program.
_AS_IT_TRAINS = "run it as it trains (`--help`, or a dry run, trains nothing)"
_BY_HAND = (
    f"{_AS_IT_TRAINS}; where it only runs a model, run that under torch.no_grad(), or for half a minute and longer; or "
    'mark the steps in the script: `with torch.profiler.profile(on_trace_ready=lambda p: p.export_chrome_trace("trace.json"), '
    "schedule=torch.profiler.schedule(wait=10, warmup=3, active=6, repeat=1)) as p:` around the loop, `p.step()` at each step's end"
)


def explain(config: ScriptConfig, folder: Path, said: list[dict[str, Any]], status: int) -> tuple[str, str]:
    """Why nothing was recorded, and what to do.

    Args:
        config: What was run.
        folder: Where the hook writes.
        said: What each process told last.
        status: How the script ended, as a shell says it.
    """
    stopped = next((json.loads(path.read_bytes()) for path in folder.glob("stopped-*.json")), None)
    if stopped is not None:
        return f"the script was stopped before it wrote {stopped['path']}, outside its scratch folder", _BESIDE
    problem = next((one["problem"] for one in said if one["problem"]), "")
    if problem:
        fix = _OWN_PROFILER if "profiler of its own" in problem else ""
        return problem, fix or MORE_ROOM
    if not said:
        # The trace is written first, and what tells of it then finds no room.
        if any(folder.glob("raw-*")):
            return f"there was no room for the recording in {tempfile.gettempdir()}", MORE_ROOM
        return _of_a_program(config, status) if config.program else _without_a_word(status)
    steps = max(one["steps"] for one in said)
    done = f"{steps} step{'' if steps == 1 else 's'}{_counted(said)}"
    if status == BY_SIGNAL + signal.SIGINT:
        return f"the script was interrupted after {done}, before enough were recorded", "let it run longer"
    if status:
        return f"the script ended with status {status} after {done}, before enough were recorded", (
            # What a guarded script prints goes into a log.
            f"see {'above' if config.guarded is None else 'at the end of the log'} why; where nothing is said there, "
            "look for what ends it without a word (sys.exit, os._exit)"
        )
    if not any(one["torch"] for one in said):
        return (
            "the script never imported torch",
            "name the script that trains, not one that starts it by other means",
        )
    if not steps and not _counted(said):
        return (
            "no loop was found: no optimizer stepped, nothing ran backward, no DataLoader gave a batch, no model was called under "
            "torch.no_grad() or inference_mode()",
            # Where it is guarded a profiler of the script's own would be the next thing to be refused.
            _BY_HAND if config.guarded is None else _AS_IT_TRAINS,
        )
    return f"the script ended after {done}; {_needed(config, said, steps)}", _longer(config, steps)


def _needed(config: ScriptConfig, said: list[dict[str, Any]], steps: int) -> str:
    """From which step on one is recorded, and from which on as many as are wanted."""
    # An epoch of few steps has fewer skipped. The step at whose end a loop is found is none that could be recorded.
    wait = max(min(one["skipping"] for one in said), 1)
    first, least = wait + config.warmup + 1, window_of(config.active).least
    # Steps are skipped until three have one length, and those of another loop are counted anew.
    row = " where all are of one loop, and of about one length" if steps >= first else ""
    enough = "" if least == 1 else f", all {least} that are wanted with step {first + least - 1}"
    return f"the first is recorded with step {first} (wait {wait} + warmup {config.warmup} + 1){row}{enough}"


def _longer(config: ScriptConfig, steps: int) -> str:
    """More steps, or the command that makes do with those there were."""
    if config.guarded is not None:
        # Nor can who runs it guarded choose how much is recorded.
        return "let it run longer: more epochs, or more data"
    # What is recorded when the script ends is kept, however few steps it is.
    if steps < _FEW_STEPS or (config.wait, config.warmup) <= (_LEAST_WAIT, 1):
        return "let it run longer: for more epochs, or with more data"
    first, *words = config.command()
    if not config.module:
        words[words.index(Path(config.target).name)] = config.target
    output = [] if config.output == Path("trace.json") else ["-o", str(config.output)]
    options = ["--wait", str(_LEAST_WAIT), "--warmup", "1", *output]
    return f"let it run longer, or skip fewer steps: {shlex.join([first, words[0], *options, *words[1:]])}"


def _counted(said: list[dict[str, Any]]) -> str:
    """` (401 batches)`: what was seen that is no step, or not sure to be one; empty where there is nothing."""
    told = max(said, key=lambda one: max(one["counts"].values(), default=0))
    found = []
    for source, word in _COUNTED.items():
        number = told["counts"].get(source, 0)
        if number and source != told["source"]:
            ending = "" if number == 1 else "es" if word.endswith(("ch", "ss")) else "s"
            found.append(f"{number} {word}{ending}")
    return f" ({', '.join(found)})" if found else ""


def _of_a_program(config: ScriptConfig, status: int) -> tuple[str, str]:
    """What is known of a program below which no Python has imported torch."""
    ended = f"{config.target} ended with status {status}, and" if status else config.target
    return (
        f"{ended} started no Python program that imports torch, "
        "or only such as leave PYTHONPATH aside (python -I, another machine)",
        "name the script that trains: advisor collect train.py -- ARGS",
    )


def _after(name: str) -> str:
    """What to do after a signal: the system sends one of them where memory is short, a process itself those of a crash."""
    if name in _CRASHES:
        return "compiled code crashed, which ends Python without a word: `python -X faulthandler` prints the line"
    if name == "SIGKILL":
        return "where nobody sent it, memory may be short: use smaller batches or fewer workers, and try again"
    return "where nobody sent it, a limit of time may have: give it more"


def _without_a_word(status: int) -> tuple[str, str]:
    """What is known of a process that ended before it could write anything."""
    if status > BY_SIGNAL:
        with contextlib.suppress(ValueError):
            name = signal.Signals(status - BY_SIGNAL).name
            return f"the script was ended by {name} before a recording was complete", _after(name)
    return (
        f"the script's process ended with status {status} before its recording began to be written",
        "run it alone first and see whether it ends well; if it does, let it run longer or use a smaller --wait",
    )
