"""Writing a file so that its name never stands for half of one: the bytes go beside it and take the name when complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that becomes `path` when the context is left, and is gone when it is left with an error.

    Args:
        path: The file, which keeps what it holds until then. A device or a named pipe (/dev/stdout) is written to directly.

    Raises:
        OSError: The folder cannot be written, or the disk is full.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as direct:
            yield direct
        return
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # mkstemp makes files that only their owner can read; this one gets the rights any new file has here.
        os.chmod(scratch, 0o666 & ~_umask())
        os.replace(scratch, path)
    finally:
        Path(scratch).unlink(missing_ok=True)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    current = os.umask(0o022)
    os.umask(current)
    return current
