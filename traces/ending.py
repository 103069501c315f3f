"""An end that is asked for from outside: SIGTERM, SIGHUP and Ctrl-C unwind this process.

The default action of the first two ends a process where it stands, with its temporary files and its children left behind; that of
Ctrl-C (SIGINT) raises an exception. An exception alone may get lost: Python only prints what finalizers, callbacks around fork and
the like raise, and libraries catch too much. So a thread watches from the signal on. Where the exception is gone before it came to
the surface, the signal is sent again; where it is held for longer than any cleaning up takes, the process ends with what is left to
clean up done from there.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

# A shell's status of a program that a signal ended: this and the signal's number.
BY_SIGNAL = 128
# SIGHUP: the terminal is gone. Windows has none.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

# A finalizer is over by then.
_AGAIN_S = 0.02
# A killed process is gone by then, unless the disk it waits for is.
_REAPED_S = 1.0
# Packages whose import must not be interrupted; it takes some seconds.
_ABORTING = ("torch", "torchvision")
# Less than service managers wait before they kill (90 s), more than writing a recorded trace or ending a loader's workers takes.
_GRACE_S = 60.0


class Ended(KeyboardInterrupt):
    """A signal asks this process to end; whatever cleans up after Ctrl-C cleans up after it.

    Args:
        number: The signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__("interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}")
        self.number = number


class _Asked:
    """What was asked of this process, and how far it came.

    Args:
        process: The process that looks out for signals; a copy of it made by fork does not.
        number: The first signal that came; None so far.
        raised: The exception that was raised for it, as long as anybody holds it.
        surfaced: Whether the program has nothing left to do but to leave.
    """

    def __init__(self) -> None:
        self.process = 0
        self.number: int | None = None
        self.raised: Callable[[], Ended | None] = lambda: None
        self.surfaced = False

    def exception(self, number: int) -> Ended:
        """A new exception, held by whoever asks for it only: held by a frame of its own traceback it would outlive its loss."""
        ended = Ended(number)
        self.raised = weakref.ref(ended)
        return ended


_asked = _Asked()


def end_in_order() -> None:
    """From now on SIGTERM, SIGHUP and SIGINT raise `Ended` in the main thread; what is ignored (`nohup`, `&`) stays so."""
    _asked.process = os.getpid()
    for number in (*SIGNALS, signal.SIGINT):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, end)
    complain = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        # A lost one is raised again: nobody needs to read of it.
        if not isinstance(unraisable.exc_value, Ended):
            complain(unraisable)

    sys.unraisablehook = hook


def surfaced() -> None:
    """The program has come to its end, by whatever way: nothing is raised any more, and a signal that comes now ends it at once."""
    _asked.surfaced = os.getpid() == _asked.process


def received() -> int | None:
    """The signal that asked this process to end, also where `Ended` was lost in code that swallows what it cannot raise."""
    return _asked.number


def interrupt_in(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interrupt that an error comes from; None where it comes from none.

    Until Python 3.12 a class that is interrupted while it is made says RuntimeError, and compilers wrap whatever they meet.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def code_of(interrupt: KeyboardInterrupt | None) -> int:
    """The exit code after an interrupt: 143 for SIGTERM, 129 for SIGHUP, 130 for Ctrl-C."""
    return BY_SIGNAL + (interrupt.number if isinstance(interrupt, Ended) else signal.SIGINT)


def end_now(number: int) -> None:
    """Ends this process from any thread, once what outlives a process is taken away.

    Args:
        number: The signal that asks for it.
    """
    # What was never imported has nothing to do.
    if leftovers := sys.modules.get("traces.leftovers"):
        leftovers.sweep()
    if (processes := sys.modules.get("multiprocessing")) and hasattr(processes, "active_children"):
        for child in processes.active_children():
            with suppress(OSError, ValueError):
                child.kill()
                child.join(_REAPED_S)
    os._exit(BY_SIGNAL + number)


def end(number: int, frame: FrameType | None) -> None:
    """The handler of `SIGNALS` and of SIGINT.

    Args:
        number: The signal that came.
        frame: Where.

    Raises:
        Ended: This is where the process is interrupted.
        KeyboardInterrupt: This is a copy of it made by fork, and SIGINT came.
    """
    if _asked.process and os.getpid() != _asked.process:
        # A worker process made by fork: it ends as it would have without us, nobody reads its traceback.
        if number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    first = _asked.number is None
    if first:
        _asked.number = number
        if _asked.surfaced:
            end_now(number)
        # Not `threading`: the signal may have come inside a lock of it.
        _thread.start_new_thread(_watch, (number,))
    if not first and number == signal.SIGINT and _asked.raised() is not None:
        # Pressed again while what came first is cleaned up after: whoever sits there does not want to wait.
        end_now(number)
    # Any other second signal must not interrupt what cleans up after the first.
    if _asked.surfaced or _asked.raised() is not None or _swallows(frame):
        return
    raise _asked.exception(number)


def _watch(number: int) -> None:
    """Send the signal again whenever what it raised is lost, until the process ends or the time to do so is up."""
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline:
        time.sleep(_AGAIN_S)
        if _asked.surfaced or _asked.raised() is not None:
            continue
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, number)
        else:
            _thread.interrupt_main(signal.Signals(number))
    with suppress(OSError):
        os.write(2, f"\nadvisor: ended by {signal.Signals(number).name}, {_GRACE_S:.0f} s after it came\n".encode())
    end_now(number)


def _swallows(frame: FrameType | None) -> bool:
    """Whether what is raised here comes to nothing, or to worse.

    Python cannot hand on what a finalizer or a weak reference's callback raises, it only prints it. And C++ that runs while torch
    is imported calls Python where it can let no error through: it aborts the process.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or (code.co_name == "cb" and "importlib" in code.co_filename):
            return True
        if code.co_name == "<module>" and str(frame.f_globals.get("__name__")).partition(".")[0] in _ABORTING:
            return True
        frame = frame.f_back
    return False
