"""What the system refuses: a folder that is gone, memory, room on the disk, a file that cannot be read. None of it is a bug."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator

from traces.errors import AdvisorError, UnreadableTraceError, UsageError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_TOO_MANY = (errno.EMFILE, errno.ENFILE)
# What loaders, libraries and threads say where they get no memory; none of them raises MemoryError.
_NO_MEMORY_WORDS = (
    "failed to map segment",
    "cannot allocate memory",
    "can't start new thread",
    "bad_alloc",
    "out of memory",
)
# Below this the numeric libraries end the process from inside, with exit code 1 and no word of what asked for them.
LEAST_BYTES = 240 << 20


def check_limit_of_memory() -> None:
    """Refuses to begin where the process may have so little memory that its libraries cannot be loaded.

    Raises:
        UnreadableTraceError: It may.
    """
    most = _limit_bytes()
    if most is not None and most < LEAST_BYTES:
        raise UnreadableTraceError(
            f"{LEAST_BYTES >> 20} MB of memory are needed to begin",
            where=f"this process may have {most >> 20} MB",
            why="a limit is set, as by `ulimit -v`",
            fix="raise it: `ulimit -v unlimited`",
        )


def check_folder() -> None:
    """Refuses to run where the working folder has been deleted.

    Raises:
        UsageError: It has.
    """
    try:
        os.getcwd()
    except OSError as error:
        raise UsageError(
            "the working folder is gone",
            where=os.environ.get("PWD"),
            why="it was deleted or made anew while this shell was in it",
            fix="change into a folder that exists: `cd ~`",
        ) from error


def refusal(error: BaseException) -> AdvisorError | None:
    """What to say of an error that comes from the system; None where it comes from the program."""
    chain = list(_chain(error))
    if any(map(_is_of_memory, chain)):
        trace = isinstance(error, MemoryError)
        return UnreadableTraceError(
            "there is not enough memory",
            where=None if trace else str(chain[-1]).strip().partition("\n")[0][:200],
            why="the trace holds more events than fit in what this process may have"
            if trace
            else "the libraries do not fit in what this process may have (`ulimit -v`), or the machine has none left",
            fix="cut it first: `advisor slim TRACE -o small.json.gz --steps A-B --no-python`"
            if trace
            else "raise the limit, or end other programs",
        )
    if not isinstance(error, OSError) or error.errno is None:
        return None
    if error.errno in _NO_ROOM:
        where = error.filename or "standard output"
        return UsageError(
            "there is no room for what is written", where=str(where), why=error.strerror, fix="write to another disk"
        )
    where = str(error.filename) if error.filename else None
    if error.errno in _NOT_ALLOWED:
        return UnreadableTraceError(
            "a file may not be read or written",
            where=where,
            why=error.strerror,
            fix="run this as its owner, or ask for the right to it (`chmod`)",
        )
    if error.errno in _TOO_MANY:
        return UnreadableTraceError(
            "too many files are open", where=where, why=error.strerror, fix="allow more: `ulimit -n 1024`"
        )
    return UnreadableTraceError(
        "a file cannot be read or written",
        where=where,
        why=f"{error.strerror}: a disk is damaged, a network file system is gone, or the file was removed meanwhile",
        fix="see that the file can be read and copied by other programs, then run this again",
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    if isinstance(error, SystemError) and _limit_bytes() is not None:
        # A library that got no memory, and did not say so.
        return True
    said = str(error).lower() if isinstance(error, ImportError | OSError | RuntimeError) else ""
    return any(word in said for word in _NO_MEMORY_WORDS)


def _limit_bytes() -> int | None:
    """How much address space this process may have; None for no limit, or where none can be told."""
    if sys.platform == "win32":
        return None
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if most == resource.RLIM_INFINITY else most
