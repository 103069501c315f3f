"""The run folder: which script its runs are of, and that one tuning at a time works in it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from traces.collect.tune.trial import Script
from traces.errors import UsageError
from traces.replacing import replacing

RUNS, RECORDING, SCRIPT = "runs.jsonl", "baseline.json", "script.json"
_ANEW = "--folder OTHER begins anew"
_MOST_CHARACTERS = 200


class RunsOf(msgspec.Struct, frozen=True, kw_only=True):
    """What times in a run folder depend on: those of another one cannot be set beside these.

    Args:
        script: Resolved path of the script, or the module's name.
        content: SHA-256 of the script; None for a module.
        arguments: The script's own.
        python: The interpreter.
        seed: For the generators of every run.
        machine: Cores and system.
        tool: Version of advisor.
    """

    script: str
    content: str | None
    arguments: tuple[str, ...]
    python: str
    seed: int
    machine: str
    tool: str


# In the order in which a difference says most.
_WORDS = {
    "script": "another script", "content": "another text of the script", "arguments": "other arguments",
    "python": "another interpreter", "seed": "another seed", "machine": "another machine", "tool": "another version of advisor",
}  # fmt: skip


def runs_of(script: Script, seed: int, machine: str, tool: str) -> RunsOf:
    """What runs made now are of.

    Args:
        script: The script.
        seed: For the generators.
        machine: Cores and system.
        tool: Version of advisor.

    Raises:
        UsageError: The script cannot be read.
    """
    path = Path(script.target)
    try:
        content = None if script.module else hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(
            "the script cannot be read", where=str(path), why=error.strerror, fix="see that you may read it"
        ) from error
    return RunsOf(
        script=script.target if script.module else str(path.resolve()), content=content, arguments=script.arguments,
        python=str(script.python or sys.executable), seed=seed, machine=machine, tool=tool,
    )  # fmt: skip


@contextmanager
def opened(folder: Path, now: RunsOf, *, resume: bool) -> Iterator[None]:
    """The folder, made if missing, for one tuning alone.

    Args:
        folder: The run folder.
        now: What runs made now are of.
        resume: Whether to go on where it ends.

    Raises:
        UsageError: It cannot be made, another tuning works in it, it holds an earlier run that is not asked for, or runs of
            something else.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make the folder {folder}: {error.strerror}", where="--folder", fix="name another one"
        ) from error
    with _alone(folder):
        _check(folder, now, resume)
        try:
            with replacing(folder / SCRIPT) as file:
                file.write(msgspec.json.encode(now))
        except OSError as error:
            raise UsageError(
                f"cannot write into the folder {folder}: {error.strerror}", where="--folder", fix="name another one"
            ) from error
        yield


def kept_words(folder: Path) -> str:
    """What an interrupted tuning leaves in its run folder, and how to go on.

    Args:
        folder: The run folder.
    """
    runs = folder / RUNS
    if runs.is_file() and runs.stat().st_size:
        return f"what was measured is kept in {folder}: --resume goes on from there"
    if (folder / RECORDING).is_file():
        return f"nothing was measured yet; the recording is kept in {folder}: --resume goes on from there"
    return "nothing was recorded or measured yet"


def _check(folder: Path, now: RunsOf, resume: bool) -> None:
    for name in (RUNS, RECORDING, SCRIPT):
        path = folder / name
        if path.exists() and not path.is_file():
            raise UsageError(
                f"{path} is no file",
                where="--folder",
                why="no tuning of ours has made it",
                fix="remove it, or " + _ANEW,
            )
    if not resume:
        if (folder / RUNS).exists():
            raise UsageError(
                f"{folder} holds an earlier run", where="--folder", fix=f"--resume goes on with it; {_ANEW}"
            )
        return
    if not any((folder / name).exists() for name in (RUNS, RECORDING)):
        return
    before = _before(folder / SCRIPT)
    differs = [name for name in _WORDS if getattr(before, name) != getattr(now, name)]
    if differs:
        first = differs[0]
        raise UsageError(
            f"the runs in {folder} are of {_WORDS[first]}: times of both cannot be set beside each other",
            where=str(folder / SCRIPT),
            why=_said(first, getattr(before, first), getattr(now, first)),
            fix=_ANEW,
        )


def _said(name: str, before: object, now: object) -> str:
    if name == "content":
        return "it was changed since"
    return f"there {_shown(before)}, now {_shown(now)}"


def _shown(value: object) -> str:
    words = " ".join(value) if isinstance(value, tuple) else str(value)
    return (words or "none")[:_MOST_CHARACTERS]


def _before(path: Path) -> RunsOf:
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunsOf)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise UsageError(
            f"nothing says of which script the runs in {path.parent} are",
            where=str(path),
            why="it is missing, was cut or changed, or another version of advisor wrote it",
            fix=_ANEW,
        ) from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """The folder, locked for this process until the context is left; a system without such locks lets everybody in."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        # A file system may know no locks.
        with suppress(OSError):
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(
                    f"another tuning works in {folder}", where="--folder", fix=f"wait until it ends; {_ANEW}"
                ) from error
        yield
    finally:
        os.close(held)
