"""What somebody else writes into, a named pipe (FIFO) or the standard input: not waited for in silence."""

from __future__ import annotations

import os
import selectors
import stat
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from traces.progress import WAITING, Progress

# Between looks at whether whoever watches wants to stop.
_LOOK_S = 0.2
_PATIENCE_S = 1.0


def is_named_pipe(path: Path) -> bool:
    """Whether opening a path waits for a writer.

    Raises:
        OSError: There is no such path.
    """
    return stat.S_ISFIFO(path.stat().st_mode)


def wait_for(descriptor: int, whom: str, progress: Progress) -> None:
    """Return once there is something to read, or whoever writes has come and gone.

    Args:
        descriptor: A pipe, a socket or a terminal.
        whom: Who is waited for, in words.
        progress: Told from a second on, again and again, that nothing has come; to stop waiting, raise from it.

    Raises:
        OSError: The system cannot wait for it.
    """
    began = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not selector.select(_LOOK_S):
            if time.monotonic() - began >= _PATIENCE_S:
                progress(f"{WAITING} for {whom}", 0, 0)


def open_named_pipe(path: Path, progress: Progress) -> IO[bytes]:
    """The pipe, once there is something to read in it, or its writer has come and gone.

    Args:
        path: A named pipe.
        progress: Told from a second on, again and again, that nothing has come; to stop waiting, raise from it.

    Raises:
        OSError: It cannot be opened.
    """
    with ExitStack() as undone:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        undone.callback(os.close, descriptor)
        wait_for(descriptor, f"somebody to write into {path.name}", progress)
        os.set_blocking(descriptor, True)
        undone.pop_all()
    return os.fdopen(descriptor, "rb")
