"""The characters drawn with: Unicode or ASCII, filled by colour or, without colour, by pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

_PATTERNS = {
    "compute": "█",
    "communication": "▚",
    "copy": "▒",
    "device_wait": "─",
    "input": "▓",
    "allocator": "◊",
    "sync": "╳",  # noqa: RUF001
    "transfer_call": "×",  # noqa: RUF001
    "optimizer": "▪",
    "compile": "%",
    "launch": "░",
    "framework": "▄",
    "python": "~",
    "unexplained": "?",
}
_ASCII_PATTERNS = {
    "compute": "#",
    "communication": "&",
    "copy": "=",
    "device_wait": "-",
    "input": "@",
    "allocator": "$",
    "sync": "X",
    "transfer_call": "x",
    "optimizer": "o",
    "compile": "%",
    "launch": ":",
    "framework": "_",
    "python": "~",
    "unexplained": "?",
}


@dataclass(frozen=True)
class Glyphs:
    """One set of characters.

    Args:
        coloured: Whether a background colour tells causes apart; else `patterns` fill them.
        eighths: Blocks of one eighth to eight eighths, lowest first; for step bars.
        bracket: Left corner, line, right corner and the mark of a bracket one cell wide.
    """

    severity: Mapping[str, str]
    patterns: Mapping[str, str]
    coloured: bool = True
    unicode: bool = True
    eighths: str = "▁▂▃▄▅▆▇█"
    bar: str = "█"
    gap: str = "·"
    dot: str = "·"
    arrow: str = "→"
    passed: str = "✓"
    unknown: str = "–"  # noqa: RUF001
    current: str = "›"  # noqa: RUF001
    ellipsis: str = "…"
    minus: str = "-"
    step: str = "╵"
    pointer: str = "▼"
    bracket: tuple[str, str, str, str] = ("└", "─", "┘", "╵")


UNICODE = Glyphs(severity={"high": "▲", "medium": "■", "low": "●", "info": "○"}, patterns=_PATTERNS)
ASCII = Glyphs(
    unicode=False,
    severity={"high": "^", "medium": "#", "low": "*", "info": "o"},
    patterns=_ASCII_PATTERNS,
    eighths="_.-=+*##",
    bar="#",
    gap=".",
    dot="-",
    arrow="->",
    passed="+",
    unknown="-",
    current=">",
    ellipsis="~",
    step="'",
    pointer="v",
    bracket=("`", "-", "'", "'"),
)


def choose(*, unicode: bool, coloured: bool) -> Glyphs:
    """The set for a terminal."""
    return replace(UNICODE if unicode else ASCII, coloured=coloured)
