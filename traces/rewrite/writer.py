"""Writes a trace event by event; its name never stands for half a file."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from traces.errors import UsageError
from traces.packing import check_packing
from traces.replacing import replacing

# Compression level 6 of gzip costs three times as much for a tenth less.
_LEVEL = 3


class TraceWriter:
    """One trace file: events first, then the keys beside them.

    Args:
        stream: Where the text goes.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.events = 0
        stream.write(b'{\n"traceEvents": [')

    def write(self, events: Iterable[bytes]) -> None:
        """Appends events, each a JSON object."""
        pieces = []
        for event in events:
            pieces.append(b",\n" if self.events else b"\n")
            pieces.append(event)
            self.events += 1
        self._stream.write(b"".join(pieces))

    def finish(self, top: dict[str, Any]) -> None:
        """Closes the list and writes the other top-level keys."""
        self._stream.write(b"\n]")
        for key, value in top.items():
            self._stream.write(b",\n" + msgspec.json.encode(key) + b": " + msgspec.json.encode(value))
        self._stream.write(b"\n}\n")


@contextmanager
def trace_writer(path: Path) -> Iterator[TraceWriter]:
    """A writer for `path`, compressed when its name ends in .gz; the file appears when the context ends well.

    Raises:
        UsageError: The folder cannot be written, or the disk is full; an older file is still there.
    """
    try:
        with replacing(path) as file, _text_stream(path, file) as stream:
            yield TraceWriter(stream)
    except OSError as error:
        raise _cannot_write(path, error) from error


@contextmanager
def _text_stream(path: Path, file: IO[bytes]) -> Iterator[IO[bytes]]:
    if path.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=_LEVEL, mtime=0) as packed:
        yield packed  # type: ignore[misc]


def check_output(path: Path, source: Path) -> None:
    """Finds out before the work that `path` cannot be written, or is the trace itself.

    Raises:
        UsageError: It is such a path.
    """
    if str(path) == "-":
        raise UsageError(
            "a trace is not written to standard output", where="-o/--output", fix="name a file, as in -o small.json.gz"
        )
    if path.is_dir():
        raise UsageError(f"{path} is a folder", where="-o/--output", fix="name a file, as in -o small.json.gz")
    check_packing(path)
    if path.exists() and source.exists() and path.samefile(source):
        raise UsageError("the new trace would replace the old one", where=str(path), fix="give -o another name")
    if not path.parent.is_dir():
        raise UsageError("the folder for the new trace does not exist", where=str(path.parent), fix="create it first")


def _cannot_write(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot write {path.name}",
        where=str(path.parent),
        why=error.strerror or str(error),
        fix="name a file in a folder that exists and can be written, with room for it, using -o",
    )
