"""Files, folders and processes that must not outlive this one.

Each is written down before it exists. A context that makes something and cleans up after itself has a gap: an interrupt between
the making and the first line that is guarded. Whatever fell into it is found here at the end.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_paths: set[Path] = set()
_children: set[int] = set()


@contextmanager
def taken_away(path: Path) -> Iterator[Path]:
    """Whatever stands at `path` when the context is left is removed, a folder with all it holds."""
    _paths.add(path)
    try:
        yield path
    finally:
        _remove(path)
        _paths.discard(path)


@contextmanager
def scratch_folder(parent: Path | None = None, prefix: str = "advisor-") -> Iterator[Path]:
    """A new folder that only its owner can read, removed when the context is left.

    Args:
        parent: Where to make it; None for the system's folder for temporary files.
        prefix: How its name begins.

    Raises:
        OSError: It cannot be made.
    """
    path = Path(parent or tempfile.gettempdir()) / unused_name(prefix)
    with taken_away(path):
        path.mkdir(mode=0o700)
        yield path


def unused_name(prefix: str = "", suffix: str = "") -> str:
    """A name that nothing has: 64 random bits."""
    return f"{prefix}{os.urandom(8).hex()}{suffix}"


@contextmanager
def ended_with_us(child: int) -> Iterator[None]:
    """A child process that is killed when the context is left.

    Args:
        child: Its number, of a process that only this context waits for.
    """
    _children.add(child)
    try:
        yield
    finally:
        _kill(child)
        _children.discard(child)


def sweep() -> None:
    """Remove and end what is still there, at the very end of the process; nothing where all went well."""
    for child in tuple(_children):
        with suppress(OSError):
            _kill(child)
    for path in tuple(_paths):
        with suppress(OSError):
            _remove(path)


def _kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
