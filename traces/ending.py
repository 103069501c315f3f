"""An end that is asked for from outside: SIGTERM and SIGHUP unwind this process as Ctrl-C does.

Their default action ends a process where it stands, with its temporary files and its children left behind.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

# A shell's status of a program that a signal ended: this and the signal's number.
BY_SIGNAL = 128
# SIGHUP: the terminal is gone. Windows has none.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

# A finalizer is over by then.
_AGAIN_S = 0.02


class Ended(KeyboardInterrupt):
    """A signal asks this process to end; whatever cleans up after Ctrl-C cleans up after it.

    Args:
        number: The signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


class _Asked:
    """What was asked of this process.

    Args:
        process: The process that looks out for signals; a copy of it made by fork does not.
        number: The last signal that came; None so far.
    """

    def __init__(self) -> None:
        self.process = 0
        self.number: int | None = None


_asked = _Asked()


def end_in_order() -> None:
    """From now on SIGTERM and SIGHUP raise `Ended` in the main thread; what is ignored (`nohup`) stays so."""
    _asked.process = os.getpid()
    for number in SIGNALS:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


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


def _end(number: int, frame: FrameType | None) -> None:
    if os.getpid() != _asked.process:
        # A worker process made by fork: it ends as it would have without us, nobody reads its traceback.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    _asked.number = number
    if _swallows(frame):
        again = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
        return
    raise Ended(number)


def _swallows(frame: FrameType | None) -> bool:
    """Whether what is raised here is only printed: Python cannot hand on what a finalizer or a weak reference's callback raises."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or (code.co_name == "cb" and "importlib" in code.co_filename):
            return True
        frame = frame.f_back
    return False
