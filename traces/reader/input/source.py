"""An opened input: its text in blocks, its digest and its size."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import IO

from traces.errors import UnreadableTraceError
from traces.progress import Progress
from traces.reader import limits
from traces.reader.input import sniff
from traces.reader.input.encoding import COUNTED, encoding_of, to_utf8
from traces.reader.input.inflate import inflate, is_compressed
from traces.reader.input.kept import Kept
from traces.reader.input.looks import first_in, nearest_name
from traces.reader.input.named_pipe import is_named_pipe, open_named_pipe
from traces.reader.input.standard_input import is_standard_input, standard_input
from traces.reader.mend.repairs import Repairs
from traces.reader.perfetto.as_json import as_json
from traces.reader.perfetto.packets import begins

# Hashed and inflated at once: each time costs the other thread a wait for the interpreter's lock.
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
        again: Read this instead of the file, for a second time; `kept` is what a pipe gave the first time.
    """

    def __init__(self, path: Path, progress: Progress, repairs: Repairs, again: Kept | None = None) -> None:
        self.name = "standard input" if path == STDIN else path.name
        self.notes: list[str] = []
        self._path = path
        self._progress = progress
        self._repairs = repairs
        self._expected = 0
        self._file = (again.opened() if again else None) or self._open()
        self.kept = Kept() if again is None and (path == STDIN or not path.is_file()) else None
        self._reader = _Reader(self._file, self.kept)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="trace-source")

    def _open(self) -> IO[bytes]:
        if self._path == STDIN:
            return standard_input(self._progress)
        try:
            if self._path.is_dir():
                inside = first_in(self._path)
                raise UnreadableTraceError(
                    f"{self.name or self._path} is a folder",
                    where=str(self._path),
                    why=None if inside else "no trace lies directly in it",
                    fix=f"name one file in it, such as {inside}" if inside else "name a trace file",
                )
            if is_named_pipe(self._path):
                return open_named_pipe(self._path, self._progress)
            self._expected = self._path.stat().st_size
            return self._path.open("rb")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            near = nearest_name(self._path) if isinstance(error, FileNotFoundError) else None
            raise UnreadableTraceError(
                f"cannot open {self.name}",
                where=str(self._path),
                why=reason or str(error),
                fix=f"check the path; did you mean {near}?" if near else "check the path",
            ) from error

    def blocks(self) -> Iterator[bytes]:
        """The uncompressed text as UTF-8, in order.

        Raises:
            UnreadableTraceError: The system cannot read the file to its end, or it is no text.
        """
        try:
            blocks = self._text()
            first = next(blocks, b"")
            if self._is_perfetto(first):
                yield from as_json(self.name, chain((first,), blocks), self.notes)
            else:
                yield from to_utf8(chain((first,), blocks), self.notes)
        except OSError as error:
            raise self._lost(error) from error

    def _lost(self, error: OSError) -> UnreadableTraceError:
        """What was opened cannot be read any further."""
        return UnreadableTraceError(
            f"{self.name} cannot be read to its end",
            where=f"{self._path}, after {self._reader.position:,} bytes",
            why=f"{error.strerror or error}: the disk is damaged, the network file system is gone, or the file was removed",
            fix="copy the file to a local disk, and read the copy",
        )

    def _text(self) -> Iterator[bytes]:
        """The text as it is encoded."""
        packed, is_file = is_compressed(self._reader.peek(sniff.HEAD_BYTES)), self._path.is_file()
        if packed:
            text: Iterable[bytes] = _gathered(inflate(self.name, self._reader, self._repairs))
        else:
            text = iter(lambda: self._reader.read(min(PIECE_BYTES, BLOCK_BYTES)), b"")
        blocks = self._sound(text, packed=packed)
        # A thread that waits for a pipe could not be interrupted. One that only reads and hashes waits for the interpreter's lock
        # for as long as it works, and costs a twelfth of all CPU time.
        blocks = self._ahead(blocks) if is_file and packed else blocks
        for block in blocks:
            position = self._reader.position
            self._progress("reading", position, max(self._expected, position) if self._expected else 0)
            for start in range(0, len(block), PIECE_BYTES):
                yield block[start : start + PIECE_BYTES]

    def _ahead(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The same, one block ahead on another core: inflating releases the interpreter's lock."""
        following = self._pool.submit(next, blocks, None)
        while (block := following.result()) is not None:
            following = self._pool.submit(next, blocks, None)
            yield block

    def _sound(self, blocks: Iterable[bytes], *, packed: bool) -> Iterator[bytes]:
        """The same, unless they are no text, or too much of it."""
        expanded = 0
        blank: list[bytes] = []
        known = False
        for block in blocks:
            expanded += len(block)
            if packed:
                limits.check_expansion(self.name, self._reader.position, expanded)
            if not known:
                blank.append(block)
                if not block.strip(_NOTHING) and expanded < limits.MAX_METADATA_BYTES:
                    continue
                block = b"".join(blank)
                self._refuse_other_formats(block)
                known = True
            yield block
        if not known:
            raise self._empty()
        while self._reader.read(BLOCK_BYTES):  # what stands behind the last compressed part, for the digest
            pass

    def _refuse_other_formats(self, block: bytes) -> None:
        if not block.strip(_NOTHING):
            raise UnreadableTraceError(
                f"{self.name} begins with {len(block):,} bytes of nothing",
                where=str(self._path),
                why="all are zero bytes or blanks: the disk was full as it was written, or it is a device",
                fix="name a trace, or record it again",
            )
        if encoding_of(block) is None and not self._is_perfetto(block):
            sniff.refuse_other_formats(self.name, block[: sniff.HEAD_BYTES])

    def _is_perfetto(self, block: bytes) -> bool:
        head = block[: sniff.HEAD_BYTES]
        return begins(head) and not sniff.is_xplane(head)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        if not is_standard_input(self._file):
            self._file.close()
        if self.kept:
            self.kept.close()
        if self.notes and isinstance(error, UnreadableTraceError) and (error.where or "").startswith("byte"):
            error.where = f"{error.where} ({COUNTED})"

    def _empty(self) -> UnreadableTraceError:
        if any(map(self._repairs.count, ("truncated-gzip", "damaged-gzip"))):
            return UnreadableTraceError(
                f"nothing of {self.name} can be unpacked",
                where=str(self._path),
                why="the compressed data ends or is damaged before its first block does",
                fix="copy the file again, as binary, or record the trace again",
            )
        if is_standard_input(self._file):
            return UnreadableTraceError(
                f"{self.name} is empty",
                where=str(self._path),
                why="the command before it wrote nothing, or nothing was passed to it",
                fix="pass a trace to it, `gunzip -c trace.json.gz | advisor explain -`, or name the file",
            )
        return UnreadableTraceError(
            f"{self.name} is empty",
            where=str(self._path),
            why="the export was interrupted or the disk was full",
            fix="record the trace again",
        )

    @property
    def size_bytes(self) -> int:
        """Bytes on disk, or what the standard input gave."""
        return self._expected or self._reader.position

    @property
    def sha256(self) -> str:
        """Digest of the bytes on disk; complete once `blocks` is exhausted."""
        return self._reader.digest.hexdigest()


def _gathered(blocks: Iterable[bytes]) -> Iterator[bytes]:
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


class _Reader:
    """A file that hashes what is read from it, and keeps what can be read but once."""

    def __init__(self, file: IO[bytes], kept: Kept | None) -> None:
        self._file = file
        self._kept = kept
        self._peeked = b""
        self.digest = hashlib.sha256()
        self.position = 0

    def peek(self, size: int) -> bytes:
        """The next bytes, which are read again."""
        self._peeked = self.read(size)
        return self._peeked

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end."""
        data, self._peeked = self._peeked[:size], self._peeked[size:]
        if len(data) == size:
            return data
        more = self._file.read(size - len(data))
        self.digest.update(more)
        if self._kept:
            self._kept.add(more)
        self.position += len(more)
        return data + more if data else more
