"""A gzip file of several members, written one after another: each can be unpacked apart, so that several processes share them.

Where a member begins is only a guess until the one before it has been unpacked and ends there; checksums say whether it was right.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traces.reader.mend.repairs import Repairs

MAGIC = b"\x1f\x8b\x08"
_RESERVED_FLAGS = 0xE0
# Both a header and the beginning of its data; what only looks like a header hardly ever unpacks.
_TRIED_BYTES = 32 << 10
_WITH_HEADER = 31


def member_from(content: mmap.mmap, begin: int, end: int) -> int | None:
    """The first byte between two at which a member seems to begin."""
    at = content.find(MAGIC, begin, end)
    while at >= 0 and not _unpacks(content[at : at + _TRIED_BYTES]):
        at = content.find(MAGIC, at + 1, end)
    return at if at >= 0 else None


def _unpacks(data: bytes) -> bool:
    if len(data) < len(MAGIC) + 1 or data[len(MAGIC)] & _RESERVED_FLAGS:
        return False
    try:
        return bool(zlib.decompressobj(_WITH_HEADER).decompress(data, 1))
    except zlib.error:
        return False


def texts(path: Path, begin: int, repairs: Repairs) -> Iterator[tuple[int, int, bytes]]:
    """The text of all members from one on, in pieces: the byte at which its member begins, how far the file was read, the piece.

    Args:
        path: The file.
        begin: Where a member begins.
        repairs: Where damage is counted; strict ones end it.

    Raises:
        UnreadableTraceError: A member is damaged, or expands as no trace does.
    """
    from traces.reader import limits
    from traces.reader.input.inflate import Pending, gzip_member

    with path.open("rb") as file:
        file.seek(begin)
        pending, expanded = Pending(file), 0
        while head := pending.fill(len(MAGIC)):
            member = begin + pending.position
            if not head.startswith(MAGIC):
                if pending.piece().strip(b"\0"):
                    repairs.add("trailing-bytes", member)
                continue
            for piece in gzip_member(pending, repairs):
                expanded += len(piece)
                limits.check_expansion(path.name, pending.position, expanded)
                yield member, begin + pending.position, piece
