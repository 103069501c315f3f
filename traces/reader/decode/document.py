"""A file to columns: everything that reading does before pandas is needed.

What comes out can be handed from one process to another, so that it can be made while the first still imports pandas.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from traces.errors import UnreadableTraceError
from traces.progress import Progress, event_counter
from traces.reader import limits, memory_left
from traces.reader.about.eventless import without_events
from traces.reader.columns.by_category import is_by_category
from traces.reader.columns.columns import Columns
from traces.reader.decode.chunks import Chunks
from traces.reader.decode.shapes import EventsByCategory
from traces.reader.events import Event
from traces.reader.input.kept import Kept
from traces.reader.input.source import STDIN, Source
from traces.reader.mend.places import Places
from traces.reader.mend.repairs import Repairs

# What is done once for each run of events costs as much as some thousand events; of more the first left the processor's cache.
_GATHERED = 4_000
# Runs of few events hold long ones, whose text stays in memory with them.
_FEW = 250


class Document(msgspec.Struct, frozen=True):
    """One trace of a file; nearly every file holds one.

    Args:
        columns: Its events.
        repairs: What was mended so far.
        top: The keys beside the events.
        bare_list: Whether it is a list of events without such keys.
        places: Where in the text events begin.
    """

    columns: Columns
    repairs: Repairs
    top: dict[str, Any]
    bare_list: bool
    places: Places


class Decoded(msgspec.Struct, frozen=True):
    """A file that was read to its end.

    Args:
        name: The file's, for messages.
        sha256: Digest of its bytes.
        size_bytes: Bytes on disk.
        notes: What is worth knowing of its container.
        documents: The traces in it, at least one; several only where they are ranks.
        kept: What a pipe gave, to be read again.
    """

    name: str
    sha256: str
    size_bytes: int
    notes: tuple[str, ...]
    documents: tuple[Document, ...]
    kept: Kept | None = None


def decode(path: Path, progress: Progress, strict: bool, several: bool) -> Decoded:
    """Decodes the first trace of a file, or with `several` all of them if they are ranks.

    Args:
        path: The file; `-` is the standard input.
        progress: Told how far reading is, in bytes on disk; raise from it to cancel.
        strict: Refuse a file that has to be repaired.
        several: Whether to look at what follows the first trace.

    Raises:
        UnreadableTraceError: The first cannot be read.
    """
    repairs = Repairs("standard input" if path == STDIN else path.name, strict=strict)
    with Source(path, progress, repairs) as source:
        found, chunks = decode_document(source.name, source.blocks(), 0, repairs, progress, several=several)
        documents = [found]
        followed, rest_offset = chunks.followed, chunks.rest_offset
        while chunks.followed and several:
            following = Repairs(source.name, strict=strict)
            try:
                found, chunks = decode_document(
                    source.name, chunks.rest(), chunks.rest_offset, following, progress, several=True
                )
            except UnreadableTraceError:
                # What does not stand alone is no rank.
                several = False
            else:
                documents.append(found)
        for _ in chunks.rest():  # for the digest
            pass
        sha256 = source.sha256
    once = _written_once(documents)
    again, documents = len(once) < len(documents), once
    if not (several and _tell_apart(documents)):
        del documents[1:]
    if followed and len(documents) == 1 and not repairs.count("several-documents"):
        detail = ": the first stands there again" if again else " (give every rank its own file)"
        repairs.add("several-documents", rest_offset, detail=detail)
    return Decoded(source.name, sha256, source.size_bytes, tuple(source.notes), tuple(documents), source.kept)


def _written_once(documents: list[Document]) -> list[Document]:
    """Documents without those that repeat one: no two processes begin and end all they do at the same nanoseconds."""
    once: list[Document] = []
    for document in documents:
        alike = [before for before in once if _rank(before) == _rank(document)]
        if not any(document.columns.same_as(before.columns) for before in alike):
            once.append(document)
    return once


def _rank(document: Document) -> Any:
    """The rank that a document states; None where it states none."""
    info = document.top.get("distributedInfo", {})
    return info.get("rank") if isinstance(info, dict) else None


def _tell_apart(documents: list[Document]) -> bool:
    """Whether documents of one file are ranks: each states another one, or none states any."""
    ranks = [_rank(document) for document in documents]
    return ranks == [None] * len(ranks) or (None not in ranks and len({str(rank) for rank in ranks}) == len(ranks))


def decode_document(
    name: str, blocks: Iterator[bytes], offset: int, repairs: Repairs, progress: Progress, *, several: bool = False
) -> tuple[Document, Chunks[Event]]:
    """Decodes one document from blocks of text, and gives back the decoder, which has what follows.

    Args:
        name: File name, for messages.
        blocks: The text.
        offset: The byte at which it begins.
        repairs: Where repairs are counted.
        progress: Told how many events there are so far.
        several: Whether the caller reads the documents that follow too.

    Raises:
        UnreadableTraceError: It cannot be read, or holds no events.
    """
    columns, tell = Columns(repairs), event_counter(progress)
    available = memory_left.available_bytes()
    # Events are dropped run by run and hold no cycles; the collector would only scan them again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        chunks = Chunks(blocks, name, repairs, EventsByCategory(repairs), several=several, offset=offset)
        for events in _gathered(chunks):
            columns.add(events)
            tell(columns.events)
            limits.check_memory(name, columns.size_bytes, available)
        columns.finish()
    finally:
        if collecting:
            gc.enable()
    if not columns.events:
        raise without_events(name, repairs)
    return Document(columns, repairs, chunks.top, chunks.bare_list, chunks.places), chunks


def _gathered(runs: Iterable[list[Event]]) -> Iterator[list[Event]]:
    """The same events in longer runs, but for mended ones each of events that were decoded in one way."""
    gathered: list[Event] = []
    for events in runs:
        if gathered and events and is_by_category(gathered[0]) != is_by_category(events[0]):
            yield gathered
            gathered = []
        gathered += events
        if len(gathered) >= _GATHERED or len(events) < _FEW:
            yield gathered
            gathered = []
    if gathered:
        yield gathered
