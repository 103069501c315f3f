"""Write the trace so that its name never stands for half a file."""

from __future__ import annotations

import contextlib
import gzip
import tempfile
from pathlib import Path

from traces.errors import UsageError
from traces.packing import check_packing
from traces.replacing import replacing

# The next three levels of gzip take five times as long, for a tenth less.
_LEVEL = 6


def check_writable(path: Path) -> None:
    """Find out before the training, not after it, that `path` cannot be written.

    Raises:
        UsageError: the folder is missing or closed, `path` is a folder, or its name promises another compression.
    """
    if path.is_dir():
        raise UsageError(what=f"--output {path} is a folder", fix="name a file, as in --output trace.json")
    check_packing(path)
    try:
        path.parent.stat()  # which follows `missing/..` as the system does; tempfile takes it off first
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _cannot_write(path, error) from error


def write_atomically(path: Path, content: bytes) -> int:
    """Write `content` to `path`, compressed when its name ends in .gz.

    Returns:
        The size of the file in bytes.

    Raises:
        UsageError: the disk is full or the folder cannot be written; an older file is still there.
    """
    if path.suffix == ".gz":
        content = gzip.compress(content, _LEVEL, mtime=0)
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        raise _cannot_write(path, error) from error
    return len(content)


class Spare:
    """One folder among the temporary files for what has no room where it was asked for; it is made when needed, and stays."""

    def __init__(self) -> None:
        self.folder: Path | None = None

    def keep(self, name: str, content: bytes) -> tuple[Path, int] | None:
        """Write `content` under its name there.

        Returns:
            The file and its size in bytes; None where no room is there either.
        """
        try:
            folder = self.folder or Path(tempfile.mkdtemp(prefix="advisor-kept-"))
        except OSError:
            return None
        try:
            size = write_atomically(folder / name, content)
        except UsageError:
            if folder != self.folder:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            return None
        self.folder = folder
        return folder / name, size


def _cannot_write(path: Path, error: OSError) -> UsageError:
    return UsageError(
        what=f"cannot write {path}: {error.strerror or error}",
        where=str(path.parent),
        fix="name a file in a folder that exists and can be written, with room for some MB, using --output",
    )
