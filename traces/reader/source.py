"""An opened input: its text in blocks, its digest and its size."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from traces.errors import UnreadableTraceError
from traces.progress import Progress
from traces.reader import limits, sniff
from traces.reader.encoding import encoding_of, to_utf8
from traces.reader.inflate import inflate, is_compressed
from traces.reader.repairs import Repairs

# Read and hashed at once: each time costs the other thread a wait for the interpreter's lock.
BLOCK_BYTES = 4 << 20
# Given out at once: its text and what it is decoded into stay in the processor's cache (a quarter of all time, on 35 MB).
PIECE_BYTES = 512 << 10
STDIN = Path("-")
_NOTHING = b"\xef\xbb\xbf \t\r\n\0"


class Source:
    """An opened input: its text as blocks of bytes, its digest and its size.

    Args:
        path: The file; `-` is the standard input.
        progress: Told (`reading`, bytes read from disk, bytes on disk or 0 where unknown) after each block.
        repairs: Where damage of the container is counted.
    """

    def __init__(self, path: Path, progress: Progress, repairs: Repairs) -> None:
        self.name = "standard input" if path == STDIN else path.name
        self.notes: list[str] = []
        self._path = path
        self._progress = progress
        self._repairs = repairs
        self._digest = hashlib.sha256()
        self._reader: _DigestingReader | None = None
        self._expected = 0
        self._file = self._open()
        # Reading, hashing and inflating release the interpreter's lock: they run one block ahead, on another core.
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="trace-source")

    def _open(self) -> IO[bytes]:
        if self._path == STDIN:
            return sys.stdin.buffer
        try:
            if self._path.is_dir():
                raise UnreadableTraceError(
                    f"{self.name or self._path} is a folder",
                    where=str(self._path),
                    fix="name one trace file in it, such as rank0.json.gz",
                )
            self._expected = self._path.stat().st_size
            return self._path.open("rb")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise UnreadableTraceError(
                f"cannot open {self.name}", where=str(self._path), why=reason or str(error), fix="check the path"
            ) from error

    def blocks(self) -> Iterator[bytes]:
        """The uncompressed text as UTF-8, in order."""
        return to_utf8(_pieces(self._ahead(self._raw_blocks())), self.notes)

    def _ahead(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        if not self._path.is_file():
            # A thread that waits for a pipe could not be interrupted.
            for piece in blocks:
                self._tell()
                yield piece
            return
        following = self._pool.submit(next, blocks, None)
        while (block := following.result()) is not None:
            self._tell()
            following = self._pool.submit(next, blocks, None)
            yield block

    def _tell(self) -> None:
        position = self._reader.position if self._reader else 0
        self._progress("reading", position, max(self._expected, position) if self._expected else 0)

    def _raw_blocks(self) -> Iterator[bytes]:
        reader = self._reader = _DigestingReader(self._file, self._digest)
        yield from self._checked(reader, reader.peek(sniff.HEAD_BYTES))
        reader.drain()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        if self._path != STDIN:
            self._file.close()

    def _checked(self, reader: _DigestingReader, head: bytes) -> Iterator[bytes]:
        packed = is_compressed(head)
        if not packed and not head.strip(_NOTHING):
            raise self._empty()
        blocks = inflate(self.name, reader, self._repairs) if packed else iter(lambda: reader.read(BLOCK_BYTES), b"")
        expanded = 0
        for block in _gathered(blocks):
            if not expanded and encoding_of(block) is None:
                sniff.refuse_other_formats(self.name, block[: sniff.HEAD_BYTES])
            expanded += len(block)
            if packed:
                limits.check_expansion(self.name, reader.position, expanded)
            yield block

        if not expanded:
            raise self._empty()

    def _empty(self) -> UnreadableTraceError:
        return UnreadableTraceError(
            f"{self.name} is empty",
            where=str(self._path),
            why="the export was interrupted or the disk was full",
            fix="record the trace again",
        )

    @property
    def size_bytes(self) -> int:
        """Bytes on disk, or what the standard input gave."""
        return self._expected or (self._reader.position if self._reader else 0)

    @property
    def sha256(self) -> str:
        """Digest of the bytes on disk; complete once `blocks` is exhausted."""
        return self._digest.hexdigest()


def _pieces(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same text in smaller blocks."""
    for block in blocks:
        for start in range(0, len(block), PIECE_BYTES):
            yield block[start : start + PIECE_BYTES]


def _gathered(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of about `BLOCK_BYTES`: decoders give out small ones, and each costs the work at its edges."""
    pieces: list[bytes] = []
    size = 0
    for block in blocks:
        pieces.append(block)
        size += len(block)
        if size >= BLOCK_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


class _DigestingReader:
    """A file that hashes what is read from it, so that the trace is read from disk once."""

    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file = file
        self._digest = digest
        self._ahead = b""
        self.position = 0

    def peek(self, size: int) -> bytes:
        self._ahead += self.read(size)
        return self._ahead

    def read(self, size: int, /) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        data = self._file.read(size)
        self._digest.update(data)
        self.position += len(data)
        return data

    def drain(self) -> None:
        while self.read(BLOCK_BYTES):
            pass
