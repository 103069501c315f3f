"""Text in whatever encoding to UTF-8, block by block."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

COUNTED = "bytes are counted as in UTF-8"


def to_utf8(blocks: Iterable[bytes], notes: list[str]) -> Iterator[bytes]:
    """The blocks as UTF-8; a byte order mark stays only where the text is UTF-8 already, whose bytes are counted.

    Args:
        blocks: Text in UTF-8, UTF-16 or UTF-32, with or without a mark.
        notes: Where an unusual encoding is said.
    """
    iterator = iter(blocks)
    first = b""
    for block in iterator:
        first += block
        if len(first) >= 4:
            break
    encoding = encoding_of(first)
    if encoding is None:
        yield first
        yield from iterator
        return
    notes.append(f"the file is written in {encoding.upper()}, as a shell's redirection may do; {COUNTED}")
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    yield decoder.decode(first).lstrip("\ufeff").encode("utf-8", "replace")
    for block in iterator:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def encoding_of(head: bytes) -> str | None:
    """utf-16 or utf-32 with its byte order; None is UTF-8."""
    marks = (
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    )
    for mark, encoding in marks:
        if head.startswith(mark):
            return encoding
    # Without a mark: the first character is a bracket, the other bytes of it are zero.
    for bracket in ("{", "["):
        for _, encoding in marks:
            if head.startswith(bracket.encode(encoding)):
                return encoding
    return None
