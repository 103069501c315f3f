"""A process that ends when we say so, with all that it has started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traces.leftovers import unused_name

# Inherited by whatever the script starts, also in sessions of their own, as torchrun's ranks are.
TOKEN = "TRACE_ADVISOR_TRIAL"
_PROC = Path("/proc")
_GRACE_S = 5.0


@contextmanager
def started(
    words: list[str], folder: Path, environment: dict[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, what it prints in a file; it and its children are gone when the context is left.

    Args:
        words: The command.
        folder: Where it runs.
        environment: Its variables.
        log: Takes what it writes to stdout and stderr.
    """
    token = unused_name()
    with log.open("wb") as out:
        process = subprocess.Popen(
            words, cwd=folder, env=environment | {TOKEN: token}, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            _end(process, token)


def _end(process: subprocess.Popen[bytes], token: str) -> None:
    """Kill its session and every process that bears its token, until none is left."""
    until = time.monotonic() + _GRACE_S
    while True:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        left = [number for number in _bearing(token) if number != os.getpid()]
        for number in left:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
        if (not left and process.returncode is not None) or time.monotonic() > until:
            return


def _bearing(token: str) -> list[int]:
    """Processes with this token in their environment; where there is no /proc the session is all that is known."""
    mark, found = f"{TOKEN}={token}".encode(), []
    for entry in _PROC.glob("[0-9]*") if _PROC.is_dir() else ():
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes() and not _is_dead(entry):
                found.append(int(entry.name))
    return found


def _is_dead(entry: Path) -> bool:
    return (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
