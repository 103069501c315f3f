"""What a file is, by its first bytes, and its text in blocks."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from traces.errors import UnreadableTraceError
from traces.progress import Progress

try:  # isal decompresses about twice as fast; the standard library does the same work where it has no build.
    from isal import igzip as _gzip_module
    from isal import isal_zlib as _zlib_module

    _GZIP_ERRORS: tuple[type[Exception], ...] = (_zlib_module.error, zlib.error, gzip.BadGzipFile, EOFError)
    _open_gzip = _gzip_module.open
except ImportError:
    _GZIP_ERRORS = (zlib.error, gzip.BadGzipFile, EOFError)
    _open_gzip = gzip.open

BLOCK_BYTES = 8 << 20

# First bytes of files that people give by mistake: what they are, and what reads them.
_NOT_A_TRACE = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "run `git lfs pull` and try again"),
    (b"<!DOCTYPE", "an HTML page", "download the raw file instead of the page that shows it"),
    (b"<!doctype", "an HTML page", "download the raw file instead of the page that shows it"),
    (b"<html", "an HTML page", "download the raw file instead of the page that shows it"),
    (b"SQLite format 3", "an SQLite database, as Nsight Systems exports", "open it with `nsys stats`"),
    (b"NVIDIA NSIGHT", "an Nsight report", "open it with Nsight Systems"),
    (b"PK\x03\x04", "a zip archive (torch.save also writes these)", "unpack it and give the trace inside"),
    (b"\x80\x02", "a pickle", "never open one you were sent; export the trace with `prof.export_chrome_trace`"),
    (b"\x80\x04", "a pickle", "never open one you were sent; export the trace with `prof.export_chrome_trace`"),
    (b"\x80\x05", "a pickle", "never open one you were sent; export the trace with `prof.export_chrome_trace`"),
)


class Source:
    """An opened input: its text as blocks of bytes, its digest and its size.

    Args:
        path: The file.
        progress: Told (`reading`, bytes read from disk, bytes on disk) after each block.
    """

    def __init__(self, path: Path, progress: Progress) -> None:
        self._path = path
        self._progress = progress
        self._digest = hashlib.sha256()
        try:
            self.size_bytes = path.stat().st_size
            self._file = path.open("rb")
        except IsADirectoryError as error:
            raise _directory(path) from error
        except OSError as error:
            raise UnreadableTraceError(
                f"cannot open {path.name}", where=str(path), why=error.strerror or str(error), fix="check the path"
            ) from error
        if path.is_dir():
            raise _directory(path)

    def blocks(self) -> Iterator[bytes]:
        """The uncompressed text, in order."""
        with self._file as file:
            reader = _DigestingReader(file, self._digest)
            head = file.peek(32)[:32]
            if not head:
                raise UnreadableTraceError(
                    f"{self._path.name} is empty", where=str(self._path), why="the export was interrupted or the disk was full",
                    fix="record the trace again",
                )
            yield from self._read(reader, head)
            reader.drain()

    def _read(self, reader: _DigestingReader, head: bytes) -> Iterator[bytes]:
        stream: IO[bytes] = reader
        if head.startswith(b"\x1f\x8b"):
            stream = _open_gzip(reader, "rb")
        else:
            self._refuse_other_formats(head)
        while True:
            try:
                block = stream.read(BLOCK_BYTES)
            except _GZIP_ERRORS as error:
                raise UnreadableTraceError(
                    f"{self._path.name} is a damaged gzip file",
                    where=f"after {reader.position:,} of {self.size_bytes:,} bytes",
                    why=str(error) or "the file was cut",
                    fix="copy or record the trace again",
                ) from error
            if not block:
                return
            self._progress("reading", reader.position, self.size_bytes)
            yield block

    def _refuse_other_formats(self, head: bytes) -> None:
        for magic, what, fix in _NOT_A_TRACE:
            if head.lstrip().startswith(magic):
                raise UnreadableTraceError(f"{self._path.name} is {what}", where="its first bytes", fix=fix)

    @property
    def sha256(self) -> str:
        """Digest of the bytes on disk; complete once `blocks` is exhausted."""
        return self._digest.hexdigest()


class _DigestingReader:
    """A file that hashes what is read from it, so that the trace is read from disk once."""

    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file = file
        self._digest = digest
        self.position = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._digest.update(data)
        self.position += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def drain(self) -> None:
        while self.read(BLOCK_BYTES):
            pass

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def seek(self, offset: int, whence: int = 0) -> int:
        raise OSError("not seekable")

    def tell(self) -> int:
        return self.position

    def close(self) -> None:
        pass

    @property
    def closed(self) -> bool:
        return False

    def flush(self) -> None:
        pass


def _directory(path: Path) -> UnreadableTraceError:
    return UnreadableTraceError(
        f"{path.name or path} is a folder", where=str(path), fix="name one trace file in it, such as rank0.json.gz"
    )
