"""Programs that start Python: launchers (`torchrun`, `accelerate launch`, `deepspeed`), shell scripts, anything on `PATH`.

Such a program runs as it is. Its environment holds what brings the hook into each Python process below it, and nothing else new.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from traces.collect.trace_advisor_hook.children import handed_on

# A first line of any length would be read whole.
_MOST_LINE = 200
_PYTHON = re.compile(r"python(?:\d(?:\.\d+)?)?(?:\.exe)?")


def is_program(target: str, python: Path | None) -> bool:
    """Whether what a person names is a program, not a Python file.

    Args:
        target: A file, or a name to be found on `PATH`.
        python: The interpreter that was asked for; programs of its environment count.
    """
    if Path(target).is_file():
        return not target.endswith(".py") and bool(_interpreter_line(target)) and not _of_python(target)
    return not target.endswith(".py") and not Path(target).is_dir() and found(target, python) is not None


def found(target: str, python: Path | None) -> str | None:
    """A program's path: a file, else of the environment that was asked for, of `PATH`, of our own environment."""
    if Path(target).is_file():
        return str(Path(target).absolute())
    folders = [os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)]
    if python is not None:
        folders.insert(0, str(Path(shutil.which(str(python)) or python).absolute().parent))
    return shutil.which(target, path=os.pathsep.join(folders))


def interpreted(program: str) -> list[str]:
    """The words that run a program: a script that nobody has made executable runs by its first line."""
    return [program] if os.access(program, os.X_OK) else [*_interpreter_line(program), program]


def launching(settings: str, python: Path | None) -> dict[str, str]:
    """The environment of a program that starts what is recorded.

    Args:
        settings: The file of the hook's settings.
        python: The interpreter that was asked for: `python` means that one there.
    """
    # Without a GPU torch would print a line; the hook sets it for scripts that it runs itself.
    environment = {"KINETO_LOG_LEVEL": "99", **os.environ}
    if python is not None:
        folder = str(Path(shutil.which(str(python)) or python).absolute().parent)
        environment["PATH"] = os.pathsep.join([folder, environment.get("PATH", os.defpath)])
    return environment | handed_on(settings, environment)


def spoken_python(words: tuple[str, ...]) -> tuple[str, bool, tuple[str, ...]] | None:
    """What `python train.py ARGS` or `python -m module ARGS` runs: target, whether it is a module, arguments; else None."""
    if len(words) < 2 or not _PYTHON.fullmatch(Path(words[0]).name):
        return None
    if words[1] == "-m" and len(words) > 2:
        return words[2], True, words[3:]
    return (words[1], False, words[2:]) if words[1].endswith(".py") else None


def _interpreter_line(path: str) -> list[str]:
    """The words behind `#!` of a file; empty where it has none."""
    with open(path, "rb") as file:
        line = file.readline(_MOST_LINE)
    return line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []


def _of_python(path: str) -> bool:
    return any(_PYTHON.fullmatch(Path(word).name) for word in _interpreter_line(path))
