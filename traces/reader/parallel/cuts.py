"""Where a large file may be cut between two events, so that several processes decode it at once."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

# How an event begins, behind the one before it. Its arguments may hold the same; a text cannot, its quotes are escaped.
_CUT = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts)"\s*:)')
# A second process must gain more than it costs to begin it.
_LEAST_BYTES = 48 << 20
# The longest events of real traces are far shorter.
_SEARCHED_BYTES = 1 << 20
# More would wait for the disk, or for whoever puts their parts together.
_MOST_PARTS = 8


class Part(msgspec.Struct, frozen=True):
    """Bytes of a file from an event on.

    Args:
        path: The file.
        begin: Its first byte; 0 is the beginning of the file.
        end: The byte after its last; None is the end of the file.
    """

    path: Path
    begin: int
    end: int | None


def parts_of(path: Path, most: int) -> tuple[Part, ...]:
    """Parts of about equal size that may be decoded apart, in order; only one where cutting is not worth it.

    Args:
        path: A file; only uncompressed JSON that begins with an object is cut.
        most: How many at most.

    Raises:
        OSError: It cannot be read.
    """
    size = path.stat().st_size
    count = min(most, _MOST_PARTS, size // _LEAST_BYTES)
    if count < 2:
        return (Part(path, 0, None),)
    with path.open("rb") as file:
        cuts = []
        if file.read(64).lstrip().startswith(b"{"):
            for number in range(1, count):
                file.seek(size * number // count)
                if match := _CUT.search(file.read(_SEARCHED_BYTES)):
                    cuts.append(size * number // count + match.end())
    return tuple(Part(path, begin, end) for begin, end in zip([0, *cuts], [*cuts, None], strict=True))
