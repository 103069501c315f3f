"""What the terminal can show and whether anybody looks: read from streams and environment, handed to the reports."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO

from analyzer.report.style import Style

# Piped text is read in logs and editors: wide enough for a finding, narrow enough for half a screen.
_PIPED_WIDTH = 100
_NARROWEST, _WIDEST = 40, 160
# What a terminal calls itself of which nobody knows how it moves a cursor. Consoles of Windows have no name, and know how.
_NAMELESS = ("dumb", "unknown") if os.name == "nt" else ("dumb", "unknown", "")


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream. Without a console (a service) a stream is None."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def style_for(stream: TextIO, environ: Mapping[str, str] = os.environ) -> Style:
    """Colours by terminal, `NO_COLOR` and `FORCE_COLOR`; width by terminal and `COLUMNS`; ASCII where UTF-8 is not understood."""
    terminal = is_terminal(stream)
    return Style(width=_width(terminal, environ), color=_color(terminal, environ), unicode=_speaks_utf8(stream))


def _width(terminal: bool, environ: Mapping[str, str]) -> int:
    stated = environ.get("COLUMNS", "")
    if stated.isascii() and stated.isdigit() and 0 < len(stated) < 6 and int(stated):
        columns = int(stated)
    elif terminal:
        columns = shutil.get_terminal_size((_PIPED_WIDTH, 24)).columns
    else:
        return _PIPED_WIDTH
    return min(max(columns, _NARROWEST), _WIDEST)


def _color(terminal: bool, environ: Mapping[str, str]) -> bool:
    if environ.get("NO_COLOR"):
        return False
    forced = environ.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return terminal and _moves_its_cursor(environ)


def _speaks_utf8(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "") == "utf8"


def wants_screen(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal UI may start: a person at both ends, a terminal that can move its cursor, and no CI."""
    if not _moves_its_cursor(environ) or environ.get("CI"):
        return False
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


def _moves_its_cursor(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM", "") not in _NAMELESS
