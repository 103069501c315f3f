"""Where what is found of large traces is kept: under XDG_CACHE_HOME, no more than a fixed number of bytes together.

Of each trace that is a file of columns, and one for each answer that was made of it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

# Smaller files are decoded in less time than the imports take.
LEAST_BYTES = 50_000_000
MOST_BYTES = 4 << 30
COLUMNS, ANSWER = ".columns", ".answer"
# Where a file is looked at to find what may be kept of it: its digest decides afterwards.
_LOOKS = 64
_LOOK_BYTES = 4096


def folder() -> Path:
    """Where; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "trace-advisor"


def place(path: Path) -> Path:
    """The file that would keep a trace's columns, for this version of the reader.

    Args:
        path: The trace.

    Raises:
        OSError: It cannot be read.
    """
    found = hashlib.sha256(_reader().encode())
    size = path.stat().st_size
    with path.open("rb") as file:
        for look in range(_LOOKS):
            file.seek(max(size - _LOOK_BYTES, 0) * look // (_LOOKS - 1))
            found.update(file.read(_LOOK_BYTES))
    return folder() / f"{size:x}-{found.hexdigest()[:40]}{COLUMNS}"


def is_large(path: Path) -> bool:
    """Whether anything is kept of such a file."""
    with suppress(OSError, ValueError):
        return path.is_file() and path.stat().st_size >= LEAST_BYTES
    return False


def answer_of(path: Path, asked: str) -> Path | None:
    """The file that keeps, or would keep, an answer that was made of a trace; None where there is no folder for it.

    Args:
        path: The trace.
        asked: Digest of everything that the answer depends on beside the trace.
    """
    with suppress(OSError, ValueError, RuntimeError):  # no home folder
        return place(path).with_suffix(f".{asked[:32]}{ANSWER}")
    return None


def is_anything_of(path: Path) -> bool:
    """Whether columns or answers are kept of a file, of this version of the reader."""
    with suppress(OSError, ValueError, RuntimeError):  # no home folder
        if is_large(path):
            stem = place(path).stem
            return any(entry.name.startswith(f"{stem}.") for entry in entries())
    return False


def entry_of(path: Path) -> Path | None:
    """What may be kept of a file; None where nothing is."""
    with suppress(OSError, ValueError, RuntimeError):  # no home folder
        if is_large(path) and is_own(entry := place(path)):
            return entry
    return None


def made() -> None:
    """Makes the folder, for its owner only.

    Raises:
        OSError: It cannot be made, or is another user's, who could read what is kept and put something else there.
    """
    where = folder()
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = where.stat()
    if not _is_mine(status):
        raise PermissionError(f"{where} is another user's")
    if stat.S_IMODE(status.st_mode) & 0o077:
        where.chmod(0o700)


def is_own(entry: Path) -> bool:
    """Whether this is a file of the user's own, not a link to one: anybody can give another's columns a right checksum.

    Raises:
        OSError: There is no such file.
    """
    status = entry.lstat()
    return stat.S_ISREG(status.st_mode) and _is_mine(status) and _is_mine(entry.parent.stat())


def _is_mine(status: os.stat_result) -> bool:
    # Windows states no owner.
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


@cache
def _reader() -> str:
    """Changes with whatever may make other columns of the same bytes: the reader's own code."""
    return state_of(Path(__file__).parents[1])


def state_of(root: Path) -> str:
    """Size and time of every file below a folder, but for what Python compiled."""
    found = []
    for where, folders, files in os.walk(root):
        folders[:] = sorted(one for one in folders if one != "__pycache__")
        below = os.path.relpath(where, root)
        for name in sorted(files):
            status = os.stat(os.path.join(where, name))
            found.append(f"{below}/{name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(found)


def entries() -> list[Path]:
    """What is kept, the longest unused first; whatever else has such a name is none of it."""
    found = []
    with suppress(OSError):
        for path in (path for path in folder().iterdir() if path.suffix in (COLUMNS, ANSWER)):
            with suppress(OSError):  # gone meanwhile
                status = path.lstat()
                if stat.S_ISREG(status.st_mode):
                    found.append((status.st_mtime_ns, path))
    return [path for _, path in sorted(found)]


def traces_of(kept: list[Path]) -> int:
    """Of how many traces something is kept."""
    return len({path.name.partition(".")[0] for path in kept})


def make_room(size_bytes: int) -> bool:
    """Drops what was not used for longest until so much more may be kept; whether it may."""
    kept = entries()
    total = sum(sizes(kept)) + size_bytes
    for entry in kept:
        if total <= MOST_BYTES:
            break
        total -= sum(sizes([entry]))
        entry.unlink(missing_ok=True)
    return total <= MOST_BYTES and shutil.disk_usage(folder()).free > 2 * size_bytes


def clear() -> tuple[int, int]:
    """Drops everything that is kept: how many files, and how many bytes.

    Raises:
        OSError: One cannot be removed.
    """
    kept = entries()
    size = sum(sizes(kept))
    for entry in kept:
        entry.unlink(missing_ok=True)
    return len(kept), size


def sizes(paths: list[Path]) -> Iterator[int]:
    """Bytes of each file that is still there."""
    for path in paths:
        with suppress(OSError):
            yield path.stat().st_size
