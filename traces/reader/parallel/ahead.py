"""Decoding in other processes, while this one still imports what it needs to understand the result.

Importing pandas and the rules takes about as long as decoding 40 MB of trace, and neither needs the other. The others
are copies of this one made before most imports; they hand their columns over through pipes. A large file is decoded by
several, each a part of it. Wherever that is not possible or goes wrong, the file is decoded here, and whatever is wrong
with the file is said from here.
"""

from __future__ import annotations

import importlib
import os
import pickle
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from traces.ending import SIGNALS
from traces.errors import AdvisorError
from traces.leftovers import ended_with_us
from traces.progress import Progress, event_counter

if TYPE_CHECKING:
    from traces.reader.decode.document import Decoded
    from traces.reader.parallel.cuts import Part
    from traces.reader.parallel.parts import DecodedPart

# What another process does: told to, it reports how far it is.
_Task = Callable[[Progress], object]
# The columns, a tenth of the text, are in memory twice for a moment.
_MOST_BYTES = 1 << 30
_MOST_PACKED_BYTES = 64 << 20
# While this process imports, some thousand reports fit into a pipe.
_TELL_EVERY_S = 0.1
_NICENESS = 5
_PACKED_ENDINGS = (".gz", ".zst", ".bz2", ".xz")


class _Told(msgspec.Struct, frozen=True):
    """How far another process is.

    Args:
        done: Bytes it has read.
        events: Events it has decoded.
    """

    done: int = 0
    events: int = 0


class Ahead(msgspec.Struct, frozen=True):
    """A file that is being decoded by other processes.

    Args:
        path: The file.
        strict: As for `read`.
        pipes: Where what they make comes from: the file decoded, or its digest and then its parts in order; none if
            nothing was begun.
        cached: Whether columns of large files are kept for the next time.
        entry: What was kept of the file last time; then its digest is all that they make.
    """

    path: Path
    strict: bool
    pipes: tuple[IO[bytes], ...]
    cached: bool = False
    entry: Path | None = None

    def decode(self, path: Path, progress: Progress, strict: bool, several: bool) -> Decoded:
        """As `traces.reader.decode.document.decode`; waits for the other processes where they were asked the same."""
        from traces.reader.cache import cached
        from traces.reader.decode.document import decode
        from traces.reader.parallel.parts import joined

        made = None
        if self.pipes and (path, strict, several) == (self.path, self.strict, False):
            # A file that was removed meanwhile: what opens it says so.
            with suppress(FileNotFoundError):
                made = _received(self.pipes, path.stat().st_size, progress)
        if made is None or self.entry:
            found = cached.load(path, self.entry, made[0]) if made and self.entry else None
            return found or (cached.decode if self.cached else decode)(path, progress, strict, several)
        decoded: Decoded = made[0] if len(made) == 1 else joined(path, made[0], made[1:], strict)
        if self.cached:
            cached.keep(path, decoded)
        return decoded


@contextmanager
def decoding_ahead(path: Path, *, strict: bool, spared_cores: int = 0, cached: bool = False) -> Iterator[Ahead]:
    """Begins to decode a file in other processes, if that saves time; leaving the context ends them.

    Args:
        path: The file.
        strict: As for `read`.
        spared_cores: Cores that the parts of a large file must not take from this process.
        cached: Whether to look for what was kept of the file, and to keep it.
    """
    with ExitStack() as begun:
        entry = _entry(path) if cached else None
        tasks = _tasks(path, strict, spared_cores, entry) if _worth_it(path) else []
        if tasks and not spared_cores:
            # NumPy, which all of them need: imported here, it is in each of the copies. A process that is to draw first waits for
            # nothing.
            importlib.import_module("traces.reader.decode.document")
        try:
            pipes = tuple(begun.enter_context(_begun(task)) for task in tasks)
        except OSError:
            # No more processes, or no more open files, are allowed: this one reads the file, when it comes to that.
            begun.close()
            pipes = ()
        yield Ahead(path, strict, pipes, cached, entry)


def _entry(path: Path) -> Path | None:
    """What may have been kept of a file."""
    from traces.reader.cache.folder import entry_of

    return entry_of(path)


def _tasks(path: Path, strict: bool, spared_cores: int, entry: Path | None) -> list[_Task]:
    """What the other processes make of a file: its digest, and where nothing was kept its parts; or all of it in one go."""
    from traces.reader.input.digest import digest
    from traces.reader.parallel.cuts import parts_of

    if entry:
        return [lambda progress: digest(path)]
    parts = parts_of(path, _cores() - spared_cores)
    if len(parts) > 1:
        return [lambda progress: digest(path), *(partial(_part, part) for part in parts)]
    return [partial(_whole, path, strict)]


def _whole(path: Path, strict: bool, progress: Progress) -> Decoded:
    from traces.reader.decode.document import decode

    return decode(path, progress, strict, False)


def _part(part: Part, progress: Progress) -> DecodedPart | None:
    from traces.reader.parallel.parts import decode_part

    return decode_part(part, progress)


@contextmanager
def _begun(task: _Task) -> Iterator[IO[bytes]]:
    """A copy of this process that works on a task, as the pipe it writes to; leaving the context ends it."""
    reading_end, writing_end = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reading_end)
        os.close(writing_end)
        raise
    if child == 0:
        os.close(reading_end)
        _send(task, writing_end)
    with ended_with_us(child):
        os.close(writing_end)
        with open(reading_end, "rb") as pipe:
            yield pipe


def _send(task: _Task, writing_end: int) -> None:
    """Sends what comes out of a task, or nothing; never returns.

    Interrupts and a reader that is gone end this process without a word: the other one speaks to the user.
    """
    for number in (signal.SIGINT, signal.SIGPIPE, *SIGNALS):
        signal.signal(number, signal.SIG_DFL)
    # It decodes with two threads. On two cores the process that draws the first screen would wait for them (0.3 s of 350 MB).
    os.nice(_NICENESS)
    try:
        with open(writing_end, "wb") as pipe:
            pickle.dump(task(_Teller(pipe)), pipe, protocol=5)
    except (AdvisorError, OSError):
        pass
    finally:
        # Not `sys.exit`: nothing of the process this is a copy of may be run a second time.
        os._exit(0)


class _Teller:
    """A progress that writes where a task is, rarely enough never to wait for whoever reads it later.

    Args:
        pipe: Where to.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._events = 0
        self._next = time.monotonic() + _TELL_EVERY_S

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Write how far it is if it is time."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _TELL_EVERY_S
            pickle.dump(_Told(done, self._events), self._pipe)
            self._pipe.flush()

    def count_events(self, number: int) -> None:
        """Take over how many events were decoded."""
        self._events = number


def _received(pipes: Sequence[IO[bytes]], size: int, progress: Progress) -> list[Any] | None:
    """What each of the other processes made; None as soon as one made nothing, or was ended."""
    made: list[Any] = [None] * len(pipes)
    told = [_Told()] * len(pipes)
    tell = event_counter(progress)
    with selectors.DefaultSelector() as waiting:
        for number, pipe in enumerate(pipes):
            waiting.register(pipe, selectors.EVENT_READ, number)
        while waiting.get_map():
            for key, _ in waiting.select():
                try:
                    # What else the pipe's buffer took up is seen at the latest when the writer closes it.
                    sent = pickle.load(pipes[key.data])
                except (EOFError, pickle.UnpicklingError):
                    return None
                if isinstance(sent, _Told):
                    told[key.data] = sent
                    tell(sum(one.events for one in told))
                    progress("reading", sum(one.done for one in told), size)
                elif sent is None:
                    return None
                else:
                    made[key.data] = sent
                    waiting.unregister(pipes[key.data])
    return made


def _worth_it(path: Path) -> bool:
    """Whether there is a core to spare, the imports are still ahead, and the file is one of a size that fits.

    A copy of a process has one thread only: with others running, their locks would stay locked in it. On macOS the system's own
    libraries start such threads.
    """
    if not sys.platform.startswith("linux") or "pandas" in sys.modules or threading.active_count() > 1 or _cores() < 2:
        return False
    most = _MOST_PACKED_BYTES if path.suffix in _PACKED_ENDINGS else _MOST_BYTES
    try:
        return path.is_file() and os.access(path, os.R_OK) and path.stat().st_size <= most
    except (OSError, ValueError):
        return False


def _cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
