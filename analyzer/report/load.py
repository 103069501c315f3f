"""A written report opened again: `advisor explain report.html` and `report.json` show what they hold, without the trace."""

from __future__ import annotations

import re
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from analyzer.analysis import SCHEMA_VERSION, Analysis
from traces.errors import UnreadableTraceError
from traces.progress import Progress
from traces.reader.input.standard_input import standard_input

# As for the reader of traces, whose modules need not be imported to open a report.
STDIN = Path("-")

if TYPE_CHECKING:
    from analyzer.explain import Options
    from traces.reader.parallel.ahead import Ahead

# Where the HTML report holds its document.
ELEMENT_ID = "advisor-analysis"
_HEAD_BYTES = 4_096
# A report is some hundred kilobytes; a file far beyond that is none of ours.
_LIMIT_BYTES = 64 << 20
_JSON_HEAD = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"schema_version"\s*:')
_HTML_HEAD = re.compile(
    rb"^(?:\xef\xbb\xbf)?\s*<!doctype html>.*<meta name=\"generator\" content=\"advisor", re.DOTALL | re.I
)
_COMPARISON_JSON = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"schema_version"\s*:\s*"[\d.]*"\s*,\s*"before"\s*:')
_COMPARISON_PAGE = b'<script type="application/json" id="advisor-comparison">'
_EMBEDDED = re.compile(rf'<script type="application/json" id="{ELEMENT_ID}">(.*?)</script>'.encode(), re.DOTALL)


def analyse(path: Path, options: Options, progress: Progress, ahead: Ahead | None = None) -> Analysis:
    """The analysis that a report at `path` holds, or that of the trace there.

    Args:
        path: The report or the trace.
        options: What to run on a trace.
        progress: Told (stage, done, total).
        ahead: Where decoding the trace may have begun already.

    Raises:
        UnreadableTraceError: the file is neither, or damaged.
    """
    saved = load(path)
    if saved is not None:
        return saved
    # Strict reading of the first rank alone would refuse the others that follow it.
    if not _is_pipe(path) and not options.strict:
        from analyzer.explain import analyse as analyse_trace

        found = analyse_trace(path, options, progress, ahead.decode if ahead else None)
        if all(repair.kind != "several-documents" for repair in found.repairs):
            return found
    from analyzer.job import explain_job

    # Ranks that wrote one file, one after another; what a pipe gives cannot be read again to find out.
    return explain_job([path], options, progress).first.analysis


def _is_pipe(path: Path) -> bool:
    """Whether what is read from there is gone afterwards."""
    try:
        return (path.exists() and not path.is_file() and not path.is_dir()) or path == STDIN
    except (OSError, ValueError):
        # No such path can be: the reader says so.
        return False


def is_report(path: Path) -> bool:
    """Whether the file begins like a report of ours."""
    try:
        if path == STDIN:
            # Looked at only: a trace's reader still finds all of it.
            stream = standard_input()
            head = stream.peek(_HEAD_BYTES) if isinstance(stream, BufferedReader) else b""
        elif not path.is_file():  # what another pipe gave would be gone
            return False
        else:
            with path.open("rb") as file:
                head = file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return False
    return bool(_JSON_HEAD.match(head) or _HTML_HEAD.match(head))


def load(path: Path) -> Analysis | None:
    """The document of a report written as JSON or HTML; None for anything else.

    Raises:
        UnreadableTraceError: it is such a report, but holds no document that can be read.
    """
    if not is_report(path):
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


def _decoded(text: bytes, path: Path) -> Analysis:
    if _COMPARISON_JSON.match(text):
        raise _comparison(path)
    try:
        return msgspec.json.decode(text, type=Analysis)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UnreadableTraceError(
            f"{path.name} is not a complete report",
            where=str(error)[:200],
            why=f"it was cut, changed or written by a version that does not speak schema {SCHEMA_VERSION}",
            fix="write it again from the trace: advisor explain trace.json -o report.json",
        ) from error
