"""The `advisor` of the shell: can be interrupted and ended from its first moment on, while it still imports itself."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

from traces.ending import BY_SIGNAL, Ended, code_of, end_in_order, end_now


def program() -> None:
    """`analyzer.cli.main.program`; an interrupt that comes before it looks out for one ends the process in the same way."""
    try:
        end_in_order()
        _occupy_closed_streams()
        if sys.stdout is None:
            from analyzer.cli.streams.closed import closed_output

            sys.stdout = closed_output()
        if sys.stderr is not None:
            sys.stderr = cast("TextIO", _Unheard(sys.stderr))
        from analyzer.cli.main import program as run

        run()
    except KeyboardInterrupt as interrupt:
        said = str(interrupt) if isinstance(interrupt, Ended) else "interrupted"
        with suppress(OSError):
            os.write(2, f"\nadvisor: {said}\n".encode())
        # What is half imported might complain when the interpreter takes it apart.
        end_now(code_of(interrupt) - BY_SIGNAL)


class _Unheard:
    """Standard error on which nothing fails: where its disk is full or its reader is gone, the exit code still says how it went.

    Args:
        stream: Standard error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str, /) -> int:
        """As a stream's."""
        with suppress(OSError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """As a stream's."""
        with suppress(OSError):
            self._stream.flush()


def _occupy_closed_streams() -> None:
    """Opens nothing in place of streams that whoever started the process closed (`<&-`).

    The next file that is opened would get such a stream's number, and a process started here would read it as its input, or write
    its messages into it.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)
    os.close(opened)
