"""SHA-256 of a file while something else is done with it."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

_BLOCK_BYTES = 1 << 20


def digest(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        OSError: It cannot be read.
    """
    beside = DigestBeside(path)
    try:
        return beside.result()
    finally:
        beside.stop()


class DigestBeside:
    """SHA-256 of a file, found by a thread of its own from now on.

    Args:
        path: The file.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        # Unbuffered: it is read into one block again and again, since new memory costs time.
        self._file = path.open("rb", buffering=0)
        self._found = hashlib.sha256()
        self._stopped = False
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="trace-digest", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        block = memoryview(bytearray(_BLOCK_BYTES))
        try:
            while not self._stopped and (size := self._file.readinto(block)):
                self._found.update(block[:size])
        except OSError as error:
            self._error = error

    def result(self) -> str:
        """The digest, waited for.

        Raises:
            OSError: The file cannot be read.
        """
        self._thread.join()
        if self._error:
            raise self._error
        return self._found.hexdigest()

    def stop(self) -> None:
        """It is not needed any more."""
        self._stopped = True
        self._thread.join()
        self._file.close()
