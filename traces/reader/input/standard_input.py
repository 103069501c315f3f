"""The standard input as bytes, where the process has one: a shell (`<&-`), cron or a service may have closed it."""

from __future__ import annotations

import sys
from typing import BinaryIO

from traces.errors import UnreadableTraceError


def standard_input() -> BinaryIO:
    """The stream.

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
    return sys.stdin.buffer


def is_standard_input(file: object) -> bool:
    """Whether a file is that stream, which whoever opened it closes, not a reader."""
    return sys.stdin is not None and file is sys.stdin.buffer
