"""The process of a script that is recorded: what asks us to end meanwhile is for the script first."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from traces.ending import SIGNALS, end

Say = Callable[[str], None]

# A script may save at the first Ctrl-C, and end at the second, as Lightning's do.
_PATIENCE = 2
_GOES_ON = "the script goes on after two Ctrl-C: a third asks it to end (SIGTERM), a fourth ends it (SIGKILL)"


def left_unsaid(words: str) -> None:
    """Nobody is at the terminal."""


class Started:
    """The script's process, and what was asked of it before it was there.

    Args:
        say: Told what the person at the terminal has to know.
    """

    def __init__(self, say: Say = left_unsaid) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.asked: int | None = None
        self.interrupts = 0
        self._say = say

    def begin(self, words: list[str], environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start it; a signal that came meanwhile reaches it now.

        Args:
            words: The command.
            environment: Its variables; None for ours.
        """
        self.process = subprocess.Popen(words, env=environment)
        if self.asked is not None:
            self.process.send_signal(self.asked)
        return self.process

    def pass_on(self, number: int, frame: FrameType | None) -> None:
        """Hand a signal to the script; once that is over, it is for us."""
        self.asked = number
        if self.process is not None:
            if self.process.returncode is not None:
                end(number, frame)
                return
            self.process.send_signal(number)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Count a Ctrl-C, which has reached the script from the terminal; end a script that does not listen."""
        self.interrupts += 1
        if self.process is None or self.process.returncode is not None:
            return
        if self.interrupts == _PATIENCE:
            self._say(_GOES_ON)
        elif self.interrupts > _PATIENCE:
            self.process.send_signal(signal.SIGTERM if self.interrupts == _PATIENCE + 1 else signal.SIGKILL)


@contextmanager
def left_to_the_script(say: Say = left_unsaid) -> Iterator[Started]:
    """Ctrl-C reaches the script from the terminal, so we only wait for it; a request to end is passed on.

    Args:
        say: Told what the person at the terminal has to know.
    """
    started = Started(say)
    # What is ignored (`nohup`) stays so; the script has inherited it.
    heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, started.pass_on) for number in heard}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, started.interrupt)
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
