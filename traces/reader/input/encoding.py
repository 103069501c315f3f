"""Text in whatever encoding to UTF-8, block by block."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Written out: to encode a bracket imports the encoding, which takes as long as decoding a megabyte of trace.
_BRACKETS = tuple(
    (bracket, encoding)
    for one in (b"{", b"[")
    for bracket, encoding in (
        (one + bytes(3), "utf-32-le"),
        (bytes(3) + one, "utf-32-be"),
        (one + bytes(1), "utf-16-le"),
        (bytes(1) + one, "utf-16-be"),
    )
)
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
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    # Without a mark: the first character is a bracket, the other bytes of it are zero.
    return next((encoding for bracket, encoding in _BRACKETS if head.startswith(bracket)), None)
