"""Parts of a large file, decoded apart, and how they become one.

Each part is made a document of its own, which the one decoder reads as any other. Whether the place of a cut really
lies between two events shows afterwards: then what stands before it ends in the list of events and needs no repair.
A file that needs any is decoded in one piece instead, because a repair names a byte and an event of the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from traces.errors import UnreadableTraceError
from traces.progress import Progress
from traces.reader.decode.document import Decoded, Document, decode_document
from traces.reader.input.source import PIECE_BYTES
from traces.reader.mend.repairs import Repairs
from traces.reader.parallel.cuts import CUT, SEARCHED_BYTES, Part
from traces.reader.parallel.members import texts

_OPENING = b'{"traceEvents":['
_CLOSING = b"]}"


class DecodedPart(msgspec.Struct, frozen=True):
    """A part as a document.

    Args:
        document: It; places in it count from the beginning of the file, or of a packed part's own text.
        text_bytes: Of a packed part from its first event to that of the next, else 0.
    """

    document: Document
    text_bytes: int = 0


def decode_part(part: Part, progress: Progress) -> DecodedPart | None:
    """One part as a document; None where it is none, or has to be repaired.

    Args:
        part: Not the whole of a file.
        progress: Told how far reading is, in bytes of this part.
    """
    repairs = Repairs(part.path.name, strict=True)
    text = _Packed(part, repairs, progress) if part.packed else _Plain(part, progress)
    try:
        offset = text.begin - len(_OPENING) if part.begin else 0
        document, chunks = decode_document(part.path.name, iter(text), offset, repairs, progress)
    except UnreadableTraceError:
        return None
    # Something after the events, such as the keys that end a trace: what was cut was no list of events.
    cut_elsewhere = part.end is not None and not chunks.closed
    return None if cut_elsewhere or document.columns.halves else DecodedPart(document, text.size)


def joined(path: Path, sha256: str, parts: Sequence[DecodedPart], strict: bool) -> Decoded:
    """The parts of one file, in order, as if it had been decoded in one piece; the first takes the others over.

    Args:
        path: The file.
        sha256: Digest of its bytes.
        parts: What `decode_part` made of every part.
        strict: As for `decode`.
    """
    first, *others = parts
    columns, top, places = first.document.columns, first.document.top, first.document.places
    offset = first.text_bytes
    for part in others:
        places.extend(part.document.places, columns.events, offset)
        columns.extend(part.document.columns)
        top |= part.document.top
        offset += part.text_bytes
    whole = Document(columns, Repairs(path.name, strict=strict), top, bare_list=False, places=places)
    return Decoded(path.name, sha256, path.stat().st_size, (), (whole,))


class _Plain:
    """An uncompressed part as a document of its own.

    Args:
        part: The part.
        progress: Told how far reading is.
    """

    size = 0

    def __init__(self, part: Part, progress: Progress) -> None:
        self._part, self._progress = part, progress
        self.begin = part.begin

    def __iter__(self) -> Iterator[bytes]:
        part = self._part
        if part.begin:
            yield _OPENING
        with part.path.open("rb") as file:
            file.seek(part.begin)
            size = (part.end or part.path.stat().st_size) - part.begin
            done = 0
            while piece := file.read(min(PIECE_BYTES, size - done)):
                done += len(piece)
                if part.end is not None and done == size:
                    piece = piece.rstrip().removesuffix(b",")
                yield piece
                self._progress("reading", done, size)
        if part.end is not None:
            yield _CLOSING


class _Packed:
    """Members of a gzip file as a document of its own: their events, and what of the last stands in the member behind them.

    Args:
        part: The part.
        repairs: Where damage is counted.
        progress: Told how far reading is.
    """

    # Where the text of a part lies in that of the file is only known once those before it are unpacked.
    begin = 0

    def __init__(self, part: Part, repairs: Repairs, progress: Progress) -> None:
        self._part, self._progress = part, progress
        self._texts = texts(part.path, part.begin, repairs)
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        """The text.

        Raises:
            UnreadableTraceError: No member begins where the part begins or ends, one is damaged, or no event begins there.
        """
        if self._part.begin:
            yield _OPENING
            text, match, last = self._first_event(next(self._texts, (0, 0, b"")))
            if self._part.end is not None and last >= self._part.end:
                raise self._no_part()
            yield from self._counted(text[match.end() :])
        for member, at, piece in self._texts:
            if self._part.end is not None and member >= self._part.end:
                text, match, _ = self._first_event((member, at, piece))
                yield from self._counted(text[: match.start() + 1])
                self.size += match.end() - match.start() - 1
                if member != self._part.end:
                    raise self._no_part()
                yield _CLOSING
                return
            yield from self._counted(piece)
            self._progress("reading", at - self._part.begin, (self._part.end or at) - self._part.begin)
        if self._part.end is not None:
            raise self._no_part()

    def _counted(self, text: bytes) -> Iterator[bytes]:
        self.size += len(text)
        for start in range(0, len(text), PIECE_BYTES):
            yield text[start : start + PIECE_BYTES]

    def _first_event(self, first: tuple[int, int, bytes]) -> tuple[bytes, re.Match[bytes], int]:
        """The text from a member on, as far as one looks, where in it an event ends and the next begins, and its last member.

        The part before it and the one that begins there look at the same text.
        """
        last, _, text = first
        while len(text) < SEARCHED_BYTES and (more := next(self._texts, None)):
            last = more[0]
            text += more[2]
        match = CUT.search(text)
        if match is None:
            raise self._no_part()
        return text, match, last

    def _no_part(self) -> UnreadableTraceError:
        return UnreadableTraceError(f"{self._part.path.name} cannot be cut there")
