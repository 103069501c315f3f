"""The columns of one sound file as bytes, and back: arrays as they lie in memory, tables as MessagePack, a checksum over all."""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt

from traces.reader.columns.columns import Columns
from traces.reader.decode.document import Decoded, Document
from traces.reader.mend.places import Places
from traces.reader.mend.repairs import Repairs

_MAGIC = b"advisor columns 1\n\0\0\0\0\0\0"
_LENGTH = struct.Struct("<q")
# Arrays begin at multiples of this.
_ALIGNED = 64
_DIGEST_BYTES = hashlib.sha256().digest_size


class _Header(msgspec.Struct):
    """What is no array.

    Args:
        sha256: Digest of the file that was read.
        size_bytes: Its bytes on disk.
        notes: As in `Decoded`.
        top: As in `Document`.
        bare_list: Likewise.
        state: What `Columns.state` gives besides arrays.
        arrays: Of each array its kind of event, column, type and length, in the order of the file.
    """

    sha256: str
    size_bytes: int
    notes: tuple[str, ...]
    top: dict[str, Any]
    bare_list: bool
    state: dict[str, Any]
    arrays: list[tuple[str, str, int]]


def write(file: IO[bytes], decoded: Decoded) -> None:
    """Writes a file of one sound document.

    Raises:
        OSError: The disk is full.
        OverflowError: A number in it has more than 64 bits.
    """
    document = decoded.documents[0]
    state, arrays = document.columns.state()
    arrays |= {f"places.{name}": values for name, values in document.places.arrays().items()}
    header = _Header(
        decoded.sha256,
        decoded.size_bytes,
        decoded.notes,
        document.top,
        document.bare_list,
        state,
        [(name, values.dtype.str, len(values)) for name, values in arrays.items()],
    )
    text = msgspec.msgpack.encode(header)
    checksum = hashlib.sha256()
    for piece in _pieces(text, list(arrays.values())):
        checksum.update(piece)
        file.write(piece)
    file.write(checksum.digest())


def _pieces(header: bytes, arrays: list[npt.NDArray[Any]]) -> Iterator[Any]:
    begin = _MAGIC + _LENGTH.pack(len(header)) + header
    yield begin + bytes(-len(begin) % _ALIGNED)
    for values in arrays:
        yield np.ascontiguousarray(values).view(np.uint8).data
        yield bytes(-values.nbytes % _ALIGNED)


def read(path: Path, name: str, sha256: str) -> Decoded | None:
    """What `write` wrote; None where it is damaged, or of another file.

    Args:
        path: Where it was written.
        name: Of the file it stands for, for messages.
        sha256: Digest of that file as it is now.
    """
    with suppress(OSError, ValueError, KeyError, struct.error, msgspec.MsgspecError), path.open("rb") as file:
        # Mapped, not read: columns that no frame needs take no memory.
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        body = content[:-_DIGEST_BYTES]
        if bytes(content[: len(_MAGIC)]) != _MAGIC or hashlib.sha256(body).digest() != content[-_DIGEST_BYTES:]:
            return None
        (length,) = _LENGTH.unpack_from(body, len(_MAGIC))
        begin = len(_MAGIC) + _LENGTH.size
        header = msgspec.msgpack.decode(body[begin : begin + length], type=_Header)
        if header.sha256 == sha256:
            return _decoded(header, _arrays(header, body, begin + length), name)
    return None


def _arrays(header: _Header, body: memoryview, at: int) -> dict[str, npt.NDArray[Any]]:
    arrays = {}
    for name, dtype, length in header.arrays:
        at += -at % _ALIGNED
        arrays[name] = np.frombuffer(body, dtype=dtype, count=length, offset=at)
        at += arrays[name].nbytes
    return arrays


def _decoded(header: _Header, arrays: dict[str, npt.NDArray[Any]], name: str) -> Decoded:
    repairs = Repairs(name)
    places = Places.of({field: arrays.pop(f"places.{field}") for field in ("events", "offsets")})
    columns = Columns.of(header.state, arrays, repairs)
    document = Document(columns, repairs, header.top, header.bare_list, places)
    return Decoded(name, header.sha256, header.size_bytes, header.notes, (document,))
