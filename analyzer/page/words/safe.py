"""Strings of a trace made harmless: they come from a file anybody may have written.

A kernel's name may hold terminal escapes, change the direction of writing or be 10 kB long. What a report shows passes
here first.
"""

from __future__ import annotations

from rich.cells import cell_len, chop_cells, set_cell_size

from analyzer.page.words.printable import clean as clean
from traces.patterns import Pattern

# A number stays on the line of its unit.
_UNIT_GAP = Pattern(r"(?<=\d) (?=(?:%|[mun]?s|[KMGT]iB|B|[kMGTP]?(?:FLOP|B)/s)(?!\w))")
_NO_BREAK = "\xa0"

# Longer names tell no more: templates repeat themselves.
NAME_LIMIT = 120
# The longest paragraph any rule writes is a third of this.
PROSE_LIMIT = 2_400


def name(text: str, limit: int = NAME_LIMIT) -> str:
    """A cleaned name of at most `limit` columns, shortened in the middle: both ends tell names apart."""
    whole = clean(text[: limit * 40])
    return middle(whole, limit)


def middle(text: str, limit: int) -> str:
    """`beginning…end`, where the text is wider than `limit` columns."""
    if cell_len(text) <= limit:
        return text
    tail = limit // 3
    head = limit - tail - 1
    return f"{set_cell_size(text, head).rstrip()}…{text[-tail:] if cell_len(text[-tail:]) <= tail else ''}"


def code(text: str) -> list[str]:
    """The lines of a piece of code, each cleaned but not shortened: it is there to be copied."""
    lines = text.replace("\r\n", "\n").split("\n")
    return [clean(line.expandtabs(4))[:PROSE_LIMIT] for line in lines]


def wrap(text: str, width: int) -> list[str]:
    """A paragraph cleaned and broken at spaces into lines of `width` columns; words wider than that are shortened."""
    cleaned = clean(text)
    cut = cleaned if len(cleaned) <= PROSE_LIMIT else cleaned[: PROSE_LIMIT - 1] + "…"
    lines: list[str] = []
    current = ""
    for word in _UNIT_GAP.sub(_NO_BREAK, cut).split(" "):
        if not word:
            continue
        short = middle(word, min(width, NAME_LIMIT))
        joined = f"{current} {short}" if current else short
        if cell_len(joined) <= width:
            current = joined
            continue
        lines.append(current)
        current = short
    return [line.replace(_NO_BREAK, " ") for line in [*lines, current] if line]


def keep_units(text: str) -> str:
    """The text with numbers tied to their units, so that no line break parts them."""
    return _UNIT_GAP.sub(_NO_BREAK, text)


def tie_units(text: str, by: str) -> str:
    """The text with `by`, one column wide, between numbers and their units: for what breaks lines at any space, a tying one too."""
    return _UNIT_GAP.sub(by, text)


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return cell_len(text)


def pad(text: str, width: int) -> str:
    """The text filled with spaces to `width` columns, cut where it is wider."""
    return text + " " * (width - cell_len(text)) if cell_len(text) <= width else chop_cells(text, width - 1)[0] + "…"
