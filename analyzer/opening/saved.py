"""A written report opened again: `advisor explain report.html` and `report.json` show what they hold, without the trace."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from io import BufferedReader
from pathlib import Path

import msgspec

from analyzer.analysis import COMPARISON_ID, ELEMENT_ID, SCHEMA_VERSION, TUNING_ID, Analysis
from analyzer.opening import STDIN
from traces.errors import UnreadableTraceError
from traces.patterns import Pattern
from traces.progress import Progress, silent
from traces.reader.input.own import COMPARISON, TUNING
from traces.reader.input.standard_input import standard_input

_HEAD_BYTES = 4_096
# A report is some hundred kilobytes; a file far beyond that is none of ours.
_LIMIT_BYTES = 64 << 20
_JSON_HEAD = Pattern(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"schema_version"\s*:')
_HTML_HEAD = Pattern(
    rb"^(?:\xef\xbb\xbf)?\s*<!doctype html>.*<meta name=\"generator\" content=\"advisor", re.DOTALL | re.I
)
_COMPARISON_PAGE, _TUNING_PAGE = (
    f'<script type="application/json" id="{name}">'.encode() for name in (COMPARISON_ID, TUNING_ID)
)
_EMBEDDED = Pattern(rf'<script type="application/json" id="{ELEMENT_ID}">(.*?)</script>'.encode(), re.DOTALL)


def is_report(path: Path, progress: Progress = silent) -> bool:
    """Whether the file begins like a report of ours.

    Args:
        path: The file; `-` is the standard input.
        progress: Told where nothing comes from there.
    """
    try:
        if path == STDIN:
            # Looked at only: a trace's reader still finds all of it.
            stream = standard_input(progress)
            head = stream.peek(_HEAD_BYTES) if isinstance(stream, BufferedReader) else b""
        elif not path.is_file():  # what another pipe gave would be gone
            return False
        else:
            with path.open("rb") as file:
                head = file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return False
    return bool(_JSON_HEAD.match(head) or _HTML_HEAD.match(head))


def load(path: Path, progress: Progress = silent) -> Analysis | None:
    """The document of a report written as JSON or HTML; None for anything else.

    Args:
        path: The file; `-` is the standard input.
        progress: Told where nothing comes from there.

    Raises:
        UnreadableTraceError: it is such a report, but holds no document that can be read.
    """
    if not is_report(path, progress):
        # The reader of traces says what is wrong with the path.
        return None
    if path == STDIN:
        text = standard_input().read(_LIMIT_BYTES)
        path = Path("standard input")
    else:
        with path.open("rb") as file:
            text = file.read(_LIMIT_BYTES)
    return _decoded(text if _JSON_HEAD.match(text) else _embedded(text, path), path)


def _embedded(page: bytes, path: Path) -> bytes:
    if _COMPARISON_PAGE in page:
        raise _comparison(path)
    if _TUNING_PAGE in page:
        raise _tuning(path)
    match = _EMBEDDED.search(page)
    if match is None:
        raise UnreadableTraceError(
            f"{path.name} is a report without its data",
            where=str(path),
            why="it was too large to hold them, or was cut",
            fix="open it in a browser, or write it again from the trace with -o report.json",
        )
    return match.group(1)


def _comparison(path: Path) -> UnreadableTraceError:
    return UnreadableTraceError(
        f"{path.name} is a comparison of two runs, not a report of one",
        where=str(path),
        fix="read it as it is, or name the trace of one side",
    )


def _tuning(path: Path) -> UnreadableTraceError:
    return UnreadableTraceError(
        f"{path.name} is the result of a tuning, not a report of a run",
        where=str(path),
        fix="read it as it is, or name the recording, baseline.json in the folder of the tuning",
    )


def _decoded(text: bytes, path: Path) -> Analysis:
    marked = text.removeprefix(BOM_UTF8)
    if COMPARISON.search(marked):
        raise _comparison(path)
    if TUNING.search(marked):
        raise _tuning(path)
    try:
        return msgspec.json.decode(text, type=Analysis)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UnreadableTraceError(
            f"{path.name} is not a complete report",
            where=str(error)[:200],
            why=f"it was cut, changed or written by a version that does not speak schema {SCHEMA_VERSION}",
            fix="write it again from the trace: advisor explain trace.json -o report.json",
        ) from error
