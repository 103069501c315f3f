"""Decoding in a second process, while this one still imports what it needs to understand the result.

Importing pandas and the rules takes about as long as decoding 40 MB of trace, and neither needs the other. The second
process is a copy of this one made before the imports; it hands its columns over through a pipe. Wherever that is not
possible or goes wrong, the file is decoded here, and whatever is wrong with the file is said from here.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from traces.errors import AdvisorError
from traces.progress import Progress, event_counter

if TYPE_CHECKING:
    from traces.reader.decode import Decoded

# The columns, a tenth of the text, are in memory twice for a moment.
_MOST_BYTES = 1 << 30
_MOST_PACKED_BYTES = 64 << 20
# While the other process imports, some thousand reports fit into the pipe.
_TELL_EVERY_S = 0.1
_PACKED_ENDINGS = (".gz", ".zst", ".bz2", ".xz")


class Ahead(msgspec.Struct, frozen=True):
    """A file that is being decoded by another process.

    Args:
        path: The file.
        strict: As for `read`.
        pipe: Where the columns come from; None if nothing was begun.
    """

    path: Path
    strict: bool
    pipe: IO[bytes] | None

    def decode(self, path: Path, progress: Progress, strict: bool, several: bool) -> Decoded:
        """As `traces.reader.decode.decode`; waits for the other process where it was asked the same."""
        from traces.reader.decode import Decoded, decode

        if self.pipe is not None and (path, strict, several) == (self.path, self.strict, False):
            tell = event_counter(progress)
            try:
                while not isinstance(sent := pickle.load(self.pipe), Decoded):
                    done, total, events = sent
                    tell(events)
                    progress("reading", done, total)
            except (EOFError, pickle.UnpicklingError):
                # It could not read the file, or was ended; what is wrong is found out below.
                pass
            else:
                return sent
        return decode(path, progress, strict, several)


@contextmanager
def decoding_ahead(path: Path, *, strict: bool) -> Iterator[Ahead]:
    """Begins to decode a file in another process, if that saves time; leaving the context ends it.

    Args:
        path: The file.
        strict: As for `read`.
    """
    if not _worth_it(path):
        yield Ahead(path, strict, None)
        return
    reading_end, writing_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading_end)
        _send(path, strict, writing_end)
    os.close(writing_end)
    try:
        with open(reading_end, "rb") as pipe:
            yield Ahead(path, strict, pipe)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class _Sender:
    """A progress that writes where reading is, rarely enough never to wait for whoever reads it later.

    Args:
        pipe: Where to.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._events = 0
        self._next = time.monotonic() + _TELL_EVERY_S

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Write (done, total, events) if it is time."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _TELL_EVERY_S
            pickle.dump((done, total, self._events), self._pipe)
            self._pipe.flush()

    def count_events(self, number: int) -> None:
        """Take over how many events were decoded."""
        self._events = number


def _worth_it(path: Path) -> bool:
    """Whether there is a core to spare, the imports are still ahead, and the file is one of a size that fits.

    A copy of a process has one thread only: with others running, their locks would stay locked in it.
    """
    if not hasattr(os, "fork") or "pandas" in sys.modules or threading.active_count() > 1 or _cores() < 2:
        return False
    most = _MOST_PACKED_BYTES if path.suffix in _PACKED_ENDINGS else _MOST_BYTES
    try:
        return path.is_file() and path.stat().st_size <= most
    except (OSError, ValueError):
        return False


def _cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _send(path: Path, strict: bool, writing_end: int) -> None:
    """Decodes the file and sends what came out, or nothing; never returns.

    Interrupts and a reader that is gone end this process without a word: the other one speaks to the user.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        from traces.reader.decode import decode

        with open(writing_end, "wb") as pipe:
            decoded = decode(path, _Sender(pipe), strict, False)
            pickle.dump(decoded, pipe, protocol=5)
    except AdvisorError:
        pass
    finally:
        # Not `sys.exit`: nothing of the process this is a copy of may be run a second time.
        os._exit(0)
