"""Compressed bytes to text: gzip (any number of members), zstd, bzip2 and xz, as far as they can be decoded.

Input is taken in small pieces: after damage, what stands before the damaged piece has already been given out.
"""

from __future__ import annotations

import bz2
import importlib
import lzma
import zlib
from collections.abc import Iterator
from typing import Any, Protocol, cast

from traces.errors import UnreadableTraceError
from traces.reader.input import sniff
from traces.reader.mend.repairs import Repairs

ZLIB: Any = zlib
_ZLIB_ERRORS: tuple[type[Exception], ...] = (zlib.error,)
try:  # isal decompresses about twice as fast; the standard library does the same work where it has no build.
    from isal import isal_zlib
except ImportError:
    pass
else:
    ZLIB = isal_zlib
    # Its stub declares the class as an instance.
    _ZLIB_ERRORS = (zlib.error, cast(type[Exception], isal_zlib.error))

_INPUT_BYTES = 64 << 10
_OUTPUT_BYTES = 2 << 20
# gzip's header flags.
_HEADER_CRC, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16


class Input(Protocol):
    """Bytes of the file on disk."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end."""
        ...


class Pending:
    """Input with what was read too far put back in front."""

    def __init__(self, source: Input) -> None:
        self._source = source
        self._read_bytes = 0
        self.data = b""

    @property
    def position(self) -> int:
        """Byte of the file at which what was not taken yet begins."""
        return self._read_bytes - len(self.data)

    def _more(self) -> bytes:
        more = self._source.read(_INPUT_BYTES)
        self._read_bytes += len(more)
        return more

    def fill(self, size: int) -> bytes:
        """At least `size` bytes without taking them, fewer only at the end."""
        while len(self.data) < size:
            more = self._more()
            if not more:
                break
            self.data += more
        return self.data

    def take(self, size: int) -> bytes:
        """Up to `size` bytes."""
        data = self.fill(size)
        self.data = data[size:]
        return data[:size]

    def piece(self) -> bytes:
        """Everything at hand, or the next piece of the file."""
        data = self.data or self._more()
        self.data = b""
        return data


def is_compressed(head: bytes) -> bool:
    """Whether `inflate` knows the format."""
    return head.startswith((sniff.GZIP, sniff.ZSTD, sniff.BZIP2, sniff.XZ))


def inflate(name: str, source: Input, repairs: Repairs) -> Iterator[bytes]:
    """The text of a compressed file, all members one after another.

    Raises:
        UnreadableTraceError: Nothing here decodes the format.
    """
    pending = Pending(source)
    member = 0
    while head := pending.fill(6):
        if head.startswith(sniff.GZIP):
            yield from gzip_member(pending, repairs)
        elif is_compressed(head):
            yield from _frames(_decoder(name, head), pending, repairs)
        else:
            # Tapes and copies pad with zeros; that is no damage.
            position, rest = pending.position, pending.piece()
            if rest.strip(b"\0"):
                repairs.add("trailing-bytes", position, detail=f" (after {member} compressed part(s))")
            while pending.piece():
                pass
            return
        member += 1


def gzip_member(pending: Pending, repairs: Repairs) -> Iterator[bytes]:
    """One member, decoded as raw deflate: a wrong checksum then costs a note, not the last block."""
    if not _skip_header(pending):
        repairs.add("truncated-gzip", pending.position)
        return
    decoder = ZLIB.decompressobj(-15)
    checksum = length = 0
    while not decoder.eof:
        piece = decoder.unconsumed_tail or pending.piece()
        if not piece:
            repairs.add("truncated-gzip", pending.position)
            yield decoder.flush()
            return
        try:
            text = decoder.decompress(piece, _OUTPUT_BYTES)
        except _ZLIB_ERRORS as error:
            repairs.add("damaged-gzip", pending.position - len(piece), detail=f" ({error})")
            while pending.piece():
                pass
            return
        checksum = ZLIB.crc32(text, checksum)
        length += len(text)
        if text:
            yield text
    pending.data = decoder.unused_data + pending.data
    trailer = pending.take(8)
    if len(trailer) < 8:
        repairs.add("truncated-gzip", pending.position)
    elif trailer != checksum.to_bytes(4, "little") + (length & 0xFFFFFFFF).to_bytes(4, "little"):
        repairs.add("wrong-checksum", pending.position - len(trailer))


def _skip_header(pending: Pending) -> bool:
    header = pending.take(10)
    if len(header) < 10:
        return False
    flags = header[3]
    if flags & _EXTRA:
        pending.take(int.from_bytes(pending.take(2), "little"))
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            byte = b"."
            while byte not in (b"\0", b""):
                byte = pending.take(1)
    if flags & _HEADER_CRC:
        pending.take(2)
    return True


def _frames(found: tuple[Any, tuple[type[Exception], ...]], pending: Pending, repairs: Repairs) -> Iterator[bytes]:
    """One zstd frame, bzip2 or xz stream."""
    decoder, errors = found
    bounded = hasattr(decoder, "needs_input")
    while not decoder.eof:
        piece = pending.piece() if not bounded or decoder.needs_input else b""
        if not piece and (not bounded or decoder.needs_input):
            repairs.add("truncated-gzip", pending.position)
            return
        try:
            text = decoder.decompress(piece, _OUTPUT_BYTES) if bounded else decoder.decompress(piece)
        except errors as error:
            repairs.add("damaged-gzip", pending.position - len(piece), detail=f" ({error})")
            while pending.piece():
                pass
            return
        if text:
            yield text
    pending.data = decoder.unused_data + pending.data


def _decoder(name: str, head: bytes) -> tuple[Any, tuple[type[Exception], ...]]:
    """A decoder of one frame, and what it raises on damage."""
    if head.startswith(sniff.BZIP2):
        return bz2.BZ2Decompressor(), (OSError, ValueError)
    if head.startswith(sniff.XZ):
        return lzma.LZMADecompressor(), (lzma.LZMAError,)
    for module in ("compression.zstd", "backports.zstd"):
        zstd = _module(module)
        if zstd is not None:
            return zstd.ZstdDecompressor(), (zstd.ZstdError,)
    zstd = _module("zstandard")
    if zstd is not None:
        return zstd.ZstdDecompressor().decompressobj(), (zstd.ZstdError,)
    raise UnreadableTraceError(
        f"{name} is compressed with zstd, and nothing here decodes it",
        where="its first bytes",
        why="Python has a decoder since 3.14 only",
        fix="`pip install backports.zstd`, or unpack it with `zstd -d`",
    )


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
