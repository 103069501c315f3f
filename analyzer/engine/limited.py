"""Somebody else's code, called so that it neither ends the program nor holds it up: in a thread of its own, waited for so long."""

from __future__ import annotations

import contextvars
import ctypes
import decimal
import io
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from typing import Any, Generic, NoReturn, TextIO, TypeVar, cast

import numpy as np

from analyzer.engine import left_behind, surroundings
from analyzer.facts.isolation import words_of

Result = TypeVar("Result")


class TookTooLong(Exception):
    """The call did not come back in time; it was told to end, and nobody waits for it any more.

    Args:
        seconds: How long was waited.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"did not come back within {seconds:g} s")


class Ended(Exception):
    """The call asked for the end of the program (`sys.exit`, `os._exit`), or raised what no `except Exception` catches."""


class Caller(Generic[Result]):
    """Makes calls one after another on one thread; a new one takes over where a call did not come back.

    A thread works where a signal does not: on every system, and for callers that are threads themselves. What it cannot end is a
    call that never lets another thread run, as one long regular expression does. Interrupts (Ctrl-C) reach whoever waits here.

    What a call prints goes to standard error: a document may stand on standard output. `os._exit` raises, or a gate would be green
    that nobody has looked at. What it changes of what all share (`surroundings`) is put back after it.

    Args:
        seconds: How long a call may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._worker: _Worker[Result] | None = None

    def __call__(self, work: Callable[[], Result], *, strange: bool = True) -> Result:
        """What a call returns.

        Args:
            work: The call.
            strange: Whether its surroundings are put back after it, and what it leaves running is waited for by nobody.

        Raises:
            TookTooLong: It did not come back.
            Ended: It raised something that is no `Exception`.
            Exception: What it raised.
        """
        if self._worker is None:
            self._worker = _Worker()
        worker = self._worker
        try:
            with _kept_apart() if strange else nullcontext(), _aside(), _kept_running(worker.thread):
                worker.calls.put(work)
                result, error = worker.results.get(timeout=self._seconds)
        except queue.Empty:
            self._worker = None
            worker.abandon()
            raise TookTooLong(self._seconds) from None
        # An interrupt is the user's, wherever it comes up.
        if isinstance(error, Exception | KeyboardInterrupt):
            raise error
        if error is not None:
            raise Ended(f"raised {type(error).__name__}({words_of(error)})").with_traceback(
                error.__traceback__
            ) from error
        return cast("Result", result)

    def __enter__(self) -> Caller[Result]:
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None


@contextmanager
def _kept_apart() -> Iterator[None]:
    with surroundings.kept(), left_behind.watched():
        yield


class _Aside(io.TextIOBase):
    """Standard error under another name: whoever closes this one closes nothing.

    Args:
        stream: Standard error; None where the shell closed it (`2>&-`).
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        return self._stream.write(text) if self._stream is not None else len(text)

    def flush(self) -> None:
        # Python flushes once more when it takes this apart, whatever has become of the stream by then. What stands in for standard
        # error, such as Textual's, need not know whether it is closed.
        if self._stream is not None and not getattr(self._stream, "closed", False):
            self._stream.flush()


@contextmanager
def _aside() -> Iterator[None]:
    """While the context holds, both streams lead to standard error."""
    stream = sys.stderr
    with redirect_stdout(_Aside(stream)), redirect_stderr(_Aside(stream)):
        yield


@contextmanager
def _kept_running(thread: threading.Thread) -> Iterator[None]:
    """While the context holds, `os._exit` raises `Ended` on this thread; copies of the process made by fork end as ever."""
    process, leave = os.getpid(), os._exit

    def refuse(status: int) -> NoReturn:
        if threading.get_ident() != thread.ident or os.getpid() != process:
            leave(status)
        raise Ended(f"called os._exit({status})")

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = leave


class _Worker(Generic[Result]):
    """The thread. It ends with the process, whatever it does then."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Callable[[], Result] | None] = queue.SimpleQueue()
        self.results: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        # What the caller set for its thread (decimal's digits, numpy's handling of division) holds here too.
        self._context = contextvars.copy_context()
        # Before numpy 2 that is no part of the context.
        self._told = np.geterr()
        self.thread = threading.Thread(target=self._work, name="advisor-rules", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        process = os.getpid()
        while (call := self.calls.get()) is not None:
            try:
                # A copy for each call: what one sets there is none of the next one's business.
                self.results.put((self._context.copy().run(self._apart, call), None))
            # Whatever it is, it is handed to whoever waits for the call.
            except BaseException as error:
                self.results.put((None, error))
            if os.getpid() != process:
                # A copy that the call made by fork: nobody gives it another call, and it would wait for one for ever.
                os._exit(0)

    def _apart(self, call: Callable[[], Result]) -> Result:
        # A copy of a context holds the same object for decimals.
        with np.errstate(**self._told), decimal.localcontext():
            return call()

    def end(self) -> None:
        """Let the thread come to its end, and wait for it: whoever forks afterwards has no thread beside."""
        self.calls.put(None)
        self.thread.join(1.0)

    def abandon(self) -> None:
        """Tell the thread to stop at its next line of Python, and to take no more calls."""
        self.calls.put(None)
        if self.thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread.ident), ctypes.py_object(SystemExit))
