"""Parts of a large file, decoded apart, and how they become one.

Each part is made a document of its own, which the one decoder reads as any other. Whether the place of a cut really
lies between two events shows afterwards: then what stands before it ends in the list of events and needs no repair.
A file that needs any is decoded in one piece instead, because a repair names a byte and an event of the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from traces.errors import UnreadableTraceError
from traces.progress import Progress
from traces.reader.decode.document import Decoded, Document, decode_document
from traces.reader.input.source import PIECE_BYTES
from traces.reader.mend.repairs import Repairs
from traces.reader.parallel.cuts import Part

_OPENING = b'{"traceEvents":['
_CLOSING = b"]}"


def decode_part(part: Part, progress: Progress) -> Document | None:
    """One part as a document; None where it is none, or has to be repaired.

    Args:
        part: Not the whole of a file.
        progress: Told how far reading is, in bytes of this part.
    """
    repairs = Repairs(part.path.name, strict=True)
    try:
        offset = part.begin - len(_OPENING) if part.begin else 0
        document, chunks = decode_document(part.path.name, _text(part, progress), offset, repairs, progress)
    except UnreadableTraceError:
        return None
    # Something after the events, such as the keys that end a trace: what was cut was no list of events.
    cut_elsewhere = part.end is not None and not chunks.closed
    return None if cut_elsewhere or document.columns.halves else document


def joined(path: Path, sha256: str, documents: Sequence[Document], strict: bool) -> Decoded:
    """The parts of one file, in order, as if it had been decoded in one piece; the first takes the others over.

    Args:
        path: The file.
        sha256: Digest of its bytes.
        documents: What `decode_part` made of every part.
        strict: As for `decode`.
    """
    columns, top, places = documents[0].columns, documents[0].top, documents[0].places
    for document in documents[1:]:
        places.extend(document.places, columns.events)
        columns.extend(document.columns)
        top |= document.top
    whole = Document(columns, Repairs(path.name, strict=strict), top, bare_list=False, places=places)
    return Decoded(path.name, sha256, path.stat().st_size, (), (whole,))


def _text(part: Part, progress: Progress) -> Iterator[bytes]:
    """The part as a document of its own."""
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
            progress("reading", done, size)
    if part.end is not None:
        yield _CLOSING
