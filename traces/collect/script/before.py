"""What can be known before anything runs: whether the script, the interpreter and the output can be used."""

from __future__ import annotations

import difflib
import importlib.util
import shlex
import shutil
import sys
from itertools import islice
from pathlib import Path

from traces.collect.output.files import check_writable
from traces.collect.script.config import ScriptConfig
from traces.collect.script.launching import found
from traces.errors import UsageError

# A folder may hold a million files.
_MOST_BESIDE = 2_000
_ALIKE = 0.7


def check(config: ScriptConfig) -> str:
    """The interpreter that runs the script, or the program that starts it.

    Raises:
        UsageError: The script, the program, the interpreter, the output or a number cannot be used.
    """
    check_named(config.target)
    check_writable(config.output)
    for name, least in (("wait", 0), ("warmup", 0), ("active", 1)):
        value = getattr(config, name)
        if value is not None and value < least:
            raise UsageError(
                f"--{name} must be at least {least}, not {value}", fix=f"leave --{name} out, or give a larger number"
            )
    what = None if config.module or config.program else why_no_script(Path(config.target))
    if what is not None:
        near = script_meant(Path(config.target))
        raise UsageError(
            f"the script {config.target} {what}",
            fix=f"did you mean {near}?"
            if near
            else "name a Python file, or a module: advisor collect -m package.train",
        )
    if not (config.module or config.program) and Path(config.target).suffix == ".ipynb":
        raise UsageError(
            f"the script {config.target} is a notebook, which Python does not run",
            fix=f"make a script of it: jupyter nbconvert --to script {shlex.quote(config.target)}",
        )
    if not (config.module or config.program) and _is_recording(Path(config.target)):
        raise UsageError(
            f"{config.target} is no script, but what a recording is written to",
            fix=f"to read it: advisor explain {shlex.quote(config.target)}; to record a script into it, -o before its name",
        )
    python = _interpreter(config)
    program = found(config.target, config.python) if config.program else python
    if program is None:
        raise UsageError(f"{config.target} is no program", fix="name a script, or a launcher such as torchrun")
    return program


def _is_recording(path: Path) -> bool:
    """Whether a file is called as recordings are: `trace.json`, `trace.json.gz`, `trace.json.older`."""
    return ".json" in path.suffixes and path.suffix != ".py"


def check_named(target: str) -> None:
    """Refuses an empty name, which would stand for the working folder.

    Raises:
        UsageError: It is one.
    """
    if not target:
        raise UsageError(
            "the name of the script is empty",
            why="a variable of the shell that is not set leaves nothing",
            fix="name a Python file, or a module: -m package.train",
        )


def _interpreter(config: ScriptConfig) -> str:
    if config.python is not None:
        path = shutil.which(str(config.python))
        if path is None:
            raise UsageError(
                f"--python {config.python} is no program", fix="name an interpreter, such as env/bin/python"
            )
        return path
    if not config.program and importlib.util.find_spec("torch") is None:
        raise UsageError(
            "torch is not installed beside advisor",
            fix="name the interpreter of the script's environment with --python, or pip install torch",
        )
    return sys.executable


def why_no_script(path: Path) -> str | None:
    """Why a path is no script, to put behind its name; None where it is a file."""
    if path.is_file():
        return None
    if path.is_dir():
        return "is a folder, not a script"
    return "is a pipe or a device, not a script" if path.exists() else "does not exist"


def script_meant(path: Path) -> Path | None:
    """The Python file beside a missing one whose name is most like it, or the same but for its ending; None where none is."""
    if path.exists():
        return None
    try:
        beside = [item.name for item in islice(path.parent.iterdir(), _MOST_BESIDE) if item.suffix == ".py"]
    except OSError:
        return None
    wanted = path.name if path.suffix == ".py" else f"{path.name}.py"
    close = difflib.get_close_matches(wanted, beside, n=1, cutoff=_ALIKE)
    return path.with_name(close[0]) if close else None
