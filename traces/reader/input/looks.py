"""What a file looks like by its beginning or its name: for files to choose from, before any is read."""

from __future__ import annotations

import json
import zlib
from itertools import islice
from pathlib import Path

from traces.patterns import Pattern
from traces.reader.input.sniff import GZIP, other_json

# What the profiler writes before its first event fits, and unpacks in less than a millisecond.
_READ_BYTES, _UNPACKED_BYTES = 1 << 14, 1 << 16
# A folder may hold a million files, and comparing names takes some microseconds each.
_MOST_BESIDE = 2_000
_MOST_OPENED = 5
_ENDINGS = (".json", ".json.gz")
_OURS = Pattern(rb'"(?:traceEvents|schemaVersion|deviceProperties)"\s*:|"ph"\s*:\s*"')


def looks_like_trace(path: Path) -> bool:
    """Whether the beginning of a file holds what a trace of the profiler does; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_READ_BYTES)
    except OSError:
        return False
    if head.startswith(GZIP):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, _UNPACKED_BYTES)
        except zlib.error:
            return False
    return _OURS.search(head) is not None


def is_other_json(path: Path) -> bool:
    """Whether a file is sound JSON without events, as settings are.

    What is cut, damaged, large or an error message that came instead of a trace is none: the reader has to say so.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_READ_BYTES + 1)
        found = json.loads(text) if len(text) <= _READ_BYTES else None
    except (OSError, ValueError, RecursionError):
        return False
    events = found if isinstance(found, list) else [found]
    return bool(found) and other_json(text) is None and not any(_has_events(item) for item in events)


def _has_events(item: object) -> bool:
    return isinstance(item, dict) and ("traceEvents" in item or "ph" in item)


def nearest_name(path: Path) -> Path | None:
    """The file beside a missing one whose name is most like it and that looks like a trace; None where none does."""
    import difflib

    try:
        beside = [item.name for item in islice(path.parent.iterdir(), _MOST_BESIDE) if not item.name.startswith(".")]
    except OSError:
        return None
    close = difflib.get_close_matches(path.name, beside, n=_MOST_OPENED, cutoff=0.7)
    return next(filter(looks_like_trace, map(path.with_name, close)), None)


def first_in(folder: Path) -> Path | None:
    """The first file directly in a folder, by name, that looks like a trace; None where none does."""
    try:
        inside = sorted(item.name for item in islice(folder.iterdir(), _MOST_BESIDE) if not item.name.startswith("."))
    except OSError:
        return None
    # A pipe among them would be waited for.
    files = (folder / name for name in inside if name.endswith(_ENDINGS) and (folder / name).is_file())
    return next(filter(looks_like_trace, islice(files, _MOST_OPENED)), None)
