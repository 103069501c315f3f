"""Where a large file may be cut between two events, so that several processes decode it at once."""

from __future__ import annotations

import itertools
import mmap
from pathlib import Path
from typing import IO

import msgspec

from traces.patterns import Pattern
from traces.reader.parallel.members import MAGIC, member_from

# How an event begins, behind the one before it. Its arguments may hold the same; a text cannot, its quotes are escaped.
CUT = Pattern(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts)"\s*:)')
# A second process must gain more than it costs to begin it. Traces compress some twelve times.
_LEAST_BYTES = 48 << 20
_LEAST_PACKED_BYTES = 4 << 20
# The longest events of real traces are far shorter.
SEARCHED_BYTES = 1 << 20
# More would wait for the disk, or for whoever puts their parts together.
_MOST_PARTS = 8


class Part(msgspec.Struct, frozen=True):
    """Bytes of a file from an event on.

    Args:
        path: The file.
        begin: Its first byte; 0 is the beginning of the file.
        end: The byte after its last; None is the end of the file.
        packed: Whether these are members of a gzip file; the part then goes from the first event that begins in them to the first
            that begins behind them.
    """

    path: Path
    begin: int
    end: int | None
    packed: bool = False


def parts_of(path: Path, most: int) -> tuple[Part, ...]:
    """Parts of about equal size that may be decoded apart, in order; only one where cutting is not worth it.

    Args:
        path: A file; only JSON that begins with an object is cut, uncompressed or as several members of gzip.
        most: How many at most.

    Raises:
        OSError: It cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        packed = file.read(len(MAGIC)) == MAGIC
        count = min(most, _MOST_PARTS, size // (_LEAST_PACKED_BYTES if packed else _LEAST_BYTES))
        places = [size * number // count for number in range(1, count)]
        cuts = _members(file, [*places, size]) if packed and places else _events(file, places)
    return tuple(
        Part(path, begin, end, packed and bool(cuts)) for begin, end in zip([0, *cuts], [*cuts, None], strict=True)
    )


def _events(file: IO[bytes], places: list[int]) -> list[int]:
    """Where an event begins behind each place, as far as one is found."""
    cuts = []
    file.seek(0)
    if file.read(64).lstrip().startswith(b"{"):
        for place in places:
            file.seek(place)
            if match := CUT.search(file.read(SEARCHED_BYTES)):
                cuts.append(place + match.end())
    return cuts


def _members(file: IO[bytes], places: list[int]) -> list[int]:
    """Where a member seems to begin between each place and the one after it, as far as one is found."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = [member_from(content, begin, end) for begin, end in itertools.pairwise(places)]
    return [one for one in found if one is not None]
