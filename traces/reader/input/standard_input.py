"""The standard input as bytes, where the process has one: a shell (`<&-`), cron or a service may have closed it."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import BinaryIO

from traces.errors import UnreadableTraceError
from traces.progress import Progress, silent
from traces.reader.input.named_pipe import wait_for


def standard_input(progress: Progress = silent) -> BinaryIO:
    """The stream, once there is something to read in it.

    Args:
        progress: Told from a second on that nothing has come.

    Raises:
        UnreadableTraceError: The process was started without one.
    """
    # Python sets it to None where its descriptor is closed.
    if sys.stdin is None or sys.stdin.buffer.closed:
        raise UnreadableTraceError(
            "the standard input is closed",
            where="-",
            why="the program was started without one (`<&-`, cron, a service)",
            fix="name the file, or pipe the trace into the command: `cat trace.json | advisor explain -`",
        )
    _wait(sys.stdin.buffer, progress)
    return sys.stdin.buffer


def _wait(stream: BinaryIO, progress: Progress) -> None:
    # A file has all it will ever have; Windows waits for sockets only, and what stands in for the stream has no number.
    with suppress(OSError, ValueError):
        if sys.platform != "win32" and not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            whom = "what is typed here; name a file to read that" if stream.isatty() else "the standard input"
            wait_for(stream.fileno(), whom, progress)


def is_standard_input(file: object) -> bool:
    """Whether a file is that stream, which whoever opened it closes, not a reader."""
    return sys.stdin is not None and file is sys.stdin.buffer
