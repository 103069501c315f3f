"""What a trace may cost to read: a trace is untrusted data, people download them from issues.

Each bound is far above every real trace seen, so that meeting one means the file is hostile or damaged.
"""

from __future__ import annotations

from traces.errors import UnreadableTraceError

# One event; the longest real ones (a fused op with thousands of tensors) stay below 1 MB.
MAX_EVENT_BYTES = 64 << 20
# Keys before or after the events; real metadata stays below 1 MB.
MAX_METADATA_BYTES = 64 << 20
# Lists in lists; real events nest five deep. Far above what one event may nest and be left out alone.
MAX_DEPTH = 1_000_000
# Traces compress 10 to 40 times; gzip's own maximum is 1032.
MAX_EXPANSION = 400
# Small files may expand as they like: a few hundred MB are read and thrown away in a second.
EXPANSION_FREE_BYTES = 512 << 20
# Perfetto files name a text once, and refer to it: a name of 200 characters is referred to by a packet of 30 bytes.
MAX_WRITTEN_OUT = 40
WRITTEN_OUT_FREE_CHARS = 64 << 20
# Most that all took together was 7.6 times the columns (half a million small events), with what was freed and the system did not
# get back. The hash tables of pandas end the process where memory ends, without an error that could be told.
COLUMNS_TO_PEAK = 8


def check_expansion(name: str, compressed: int, expanded: int) -> None:
    """Refuses a compressed file that grows as no trace does.

    Raises:
        UnreadableTraceError: It does.
    """
    if expanded > EXPANSION_FREE_BYTES and expanded > MAX_EXPANSION * max(compressed, 1):
        raise UnreadableTraceError(
            f"{name} expands to more than {MAX_EXPANSION} times its size",
            where=f"after {compressed:,} compressed bytes gave {expanded:,}",
            why="no trace compresses so well; the file was made to fill memory or disk",
            fix="do not open it; ask where it comes from",
        )


def check_written_out(name: str, read: int, named: int) -> None:
    """Refuses a file that names a text once and refers to it until the texts fill memory.

    Args:
        name: File name.
        read: Bytes of the file so far.
        named: Characters of all texts that were referred to, each as often as it was.

    Raises:
        UnreadableTraceError: It does.
    """
    if named > WRITTEN_OUT_FREE_CHARS and named > MAX_WRITTEN_OUT * read:
        raise UnreadableTraceError(
            f"{name} says more than {MAX_WRITTEN_OUT} times what it holds",
            where=f"after {read:,} bytes referred to {named:,} characters",
            why="no trace repeats names so long; the file was made to fill memory",
            fix="do not open it; ask where it comes from",
        )


def check_event(name: str, size: int, offset: int) -> None:
    """Refuses a single event, or one of its strings, that is larger than any real one.

    Raises:
        UnreadableTraceError: It is.
    """
    if size > MAX_EVENT_BYTES:
        raise UnreadableTraceError(
            f"{name} holds an event of more than {MAX_EVENT_BYTES >> 20} MB",
            where=f"byte {offset:,}",
            why="it is nested without end, or a string in it never closes",
            fix="record the trace again; if it was sent to you, ask where it comes from",
        )


def check_depth(name: str, depth: int, offset: int) -> None:
    """Refuses text that opens brackets without end: to look for where they close takes minutes.

    Raises:
        UnreadableTraceError: It does.
    """
    if depth > MAX_DEPTH:
        raise UnreadableTraceError(
            f"{name} is nested more than {MAX_DEPTH:,} deep",
            where=f"byte {offset:,}",
            why="no trace is; the file was made to fill memory, or is damaged",
            fix="record the trace again; if it was sent to you, ask where it comes from",
        )


def check_memory(name: str, columns: int, available: int | None, *, held: int = 0) -> None:
    """Stops before the machine runs out of memory.

    Args:
        name: File name.
        columns: Bytes of all columns so far.
        available: Memory that was there at the start; None is unknown.
        held: Bytes of them that were already taken then.

    Raises:
        UnreadableTraceError: What is left would not do.
    """
    if available is not None and columns * COLUMNS_TO_PEAK - held > available:
        raise UnreadableTraceError(
            f"{name} needs more memory than there is left",
            where=f"{columns >> 20:,} MB of columns, {available >> 20:,} MB were available",
            why="the trace holds very many events",
            fix="cut it first: `advisor slim TRACE -o small.json.gz --steps A-B --no-python`",
        )
