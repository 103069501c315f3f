"""HolisticTraceAnalysis's evidence, looked for after the first screen, in a process of its own.

It takes seconds of work that gives the interpreter to nobody: a thread beside the screen would let no key through.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from analyzer.analysis import Analysis

# Beyond this the second copy of the trace could crowd out other programs; `--deep` still looks.
MOST_EVENTS = 2_000_000
_PROGRAM = (sys.executable, "-m", "analyzer.tui.work.deeper")
_NICENESS = 10


class NotDeeperError(Exception):
    """Why no more evidence was found."""


class Deeper:
    """A look that is under way; `stop` ends it.

    Args:
        program: The command that is told the trace, and the document on its standard input.
    """

    def __init__(self, program: tuple[str, ...] = _PROGRAM) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()

    def look(self, analysis: Analysis, path: Path) -> Analysis | None:
        """The document with more evidence; None where it was stopped. Blocks.

        Raises:
            NotDeeperError: HTA ended in an error; the findings stand as they are.
        """
        if self._stopped.is_set():
            return None
        try:
            self._process = process = subprocess.Popen(
                [*self._program, str(path)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            written, said = process.communicate(msgspec.json.encode(analysis))
        except OSError as error:
            raise NotDeeperError(error.strerror or str(error)) from error
        if self._stopped.is_set():
            return None
        if process.returncode != 0 or not written:
            # The last line of a traceback names the error.
            lines = said.decode("utf-8", "replace").strip().splitlines()
            raise NotDeeperError(lines[-1] if lines else f"it ended with {process.returncode}")
        return msgspec.json.decode(written, type=Analysis)

    def stop(self) -> None:
        """End it: nobody waits for the answer."""
        self._stopped.set()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()


def worth_it(analysis: Analysis, path: Path | None) -> bool:
    """Whether HTA is there and has something to add to the findings of this trace."""
    if path is None or not path.is_file() or analysis.trace.events > MOST_EVENTS:
        return False
    from analyzer.hta import bridge
    from analyzer.hta.deepen import concerned

    return bool(concerned(analysis)) and bridge.missing() is None


def main(path: Path, read: Callable[[], bytes], write: Callable[[bytes], object]) -> int:
    """In the other process: read the trace again, add to the document, write it."""
    from analyzer.hta.deepen import deepen
    from traces.reader.read import read as read_trace

    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    analysis = msgspec.json.decode(read(), type=Analysis)
    write(msgspec.json.encode(deepen(analysis, read_trace(path))))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.stdin.buffer.read, sys.stdout.buffer.write))
