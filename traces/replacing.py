"""Writing a file so that its name never stands for half of one: the bytes go beside it and take the name when complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from traces.leftovers import taken_away, unused_name

# A file that nobody has made before us, as tempfile opens its own.
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


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
    with taken_away(path.with_name(unused_name(f".{path.name}-", ".tmp"))) as scratch:
        # Until it is complete only its owner can read it; then it gets the rights any new file has here.
        with open(os.open(scratch, _NEW, 0o600), "wb") as file:
            yield file
        os.chmod(scratch, 0o666 & ~_umask())
        os.replace(scratch, path)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    current = os.umask(0o022)
    os.umask(current)
    return current
