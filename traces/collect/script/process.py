"""The process of a script that is recorded: what asks us to end meanwhile is for the script first."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from traces.ending import SIGNALS, end


class Started:
    """The script's process, and what was asked of it before it was there."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.asked: int | None = None

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


@contextmanager
def left_to_the_script() -> Iterator[Started]:
    """Ctrl-C reaches the script from the terminal, so we only wait for it; a request to end is passed on."""
    started = Started()
    # What is ignored (`nohup`) stays so; the script has inherited it.
    heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, started.pass_on) for number in heard}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
