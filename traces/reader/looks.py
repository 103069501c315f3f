"""Whether a file looks like a trace, by its beginning: for lists of files to choose from, before any is read."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from traces.reader.sniff import GZIP

# What the profiler writes before its first event fits, and unpacks in less than a millisecond.
_READ_BYTES, _UNPACKED_BYTES = 1 << 14, 1 << 16
_OURS = re.compile(rb'"(?:traceEvents|schemaVersion|deviceProperties)"\s*:|"ph"\s*:\s*"')


def looks_like_trace(path: Path) -> bool:
    """Whether the beginning of a file holds what a trace of the profiler does; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_READ_BYTES)
    except OSError:
        return False
    if head.startswith(GZIP):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, _UNPACKED_BYTES)
        except zlib.error:
            return False
    return _OURS.search(head) is not None
