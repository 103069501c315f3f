"""Decoding a file, or taking what was kept of it: of sound, large files only, and only where the bytes are the same.

The digest of the whole file decides, and a checksum over what was kept. Whatever is not so is decoded again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from traces.progress import Progress
from traces.reader.cache import columnar, folder
from traces.reader.decode import document
from traces.reader.decode.document import Decoded
from traces.reader.input.digest import digest
from traces.replacing import replacing


def decode(path: Path, progress: Progress, strict: bool, several: bool) -> Decoded:
    """As `traces.reader.decode.document.decode`, from what was kept of the file where that is the same."""
    entry = None if several else folder.entry_of(path)
    if entry:
        with suppress(OSError):  # what opens it next says so
            if found := load(path, entry, digest(path)):
                return found
    made = document.decode(path, progress, strict, several)
    keep(path, made)
    return made


def load(path: Path, entry: Path, sha256: str) -> Decoded | None:
    """What was kept of a file with this digest; None where it is of another one, or damaged."""
    found = columnar.read(entry, path.name, sha256)
    if found is None:
        with suppress(OSError):
            entry.unlink()
    else:
        # Used now: the longest unused goes first.
        with suppress(OSError):
            os.utime(entry)
    return found


def keep(path: Path, decoded: Decoded) -> None:
    """Keeps the columns of a sound, large file; a folder that cannot be written costs nothing but time."""
    if len(decoded.documents) > 1 or not path.is_file() or decoded.size_bytes < folder.LEAST_BYTES:
        return
    one = decoded.documents[0]
    if one.repairs.listed() or one.columns.halves:
        return
    with suppress(OSError, OverflowError, RuntimeError):  # no home folder, no room, a number beyond 64 bits
        entry = folder.place(path)
        # What is written holds names and paths of the user's own.
        folder.made()
        if folder.make_room(one.columns.size_bytes):
            with replacing(entry) as file:
                columnar.write(file, decoded)
            # Names and texts were not counted before.
            folder.make_room(0)
