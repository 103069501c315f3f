"""SHA-256 of a file."""

from __future__ import annotations

import hashlib
from pathlib import Path

_BLOCK_BYTES = 1 << 20


def digest(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        OSError: It cannot be read.
    """
    found = hashlib.sha256()
    # Unbuffered: it is read into one block again and again, since new memory costs time.
    block = memoryview(bytearray(_BLOCK_BYTES))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(block):
            found.update(block[:size])
    return found.hexdigest()
