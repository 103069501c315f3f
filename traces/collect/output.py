"""Write the trace so that its name never stands for half a file."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

from traces.errors import UsageError


def check_writable(path: Path) -> None:
    """Find out before the training, not after it, that `path` cannot be written.

    Raises:
        UsageError: the folder is missing or closed, or `path` is a folder.
    """
    if path.is_dir():
        raise UsageError(what=f"--output {path} is a folder", fix="name a file, as in --output trace.json")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _cannot_write(path, error) from error


def write_atomically(path: Path, content: bytes) -> int:
    """Write `content` to `path`, compressed when its name ends in .gz.

    The bytes go to a file beside it that takes the name when it is complete.

    Returns:
        The size of the file in bytes.

    Raises:
        UsageError: the disk is full or the folder cannot be written; an older file is still there.
    """
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    try:
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(scratch, 0o666 & ~_umask())  # mkstemp makes files only the owner can read
            os.replace(scratch, path)
        except BaseException:
            os.unlink(scratch)
            raise
    except OSError as error:
        raise _cannot_write(path, error) from error
    return len(content)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    current = os.umask(0o022)
    os.umask(current)
    return current


def _cannot_write(path: Path, error: OSError) -> UsageError:
    return UsageError(
        what=f"cannot write {path}: {error.strerror or error}",
        where=str(path.parent),
        fix="name a file in a folder that exists and can be written, with room for some MB, using --output",
    )
