"""How a text report may look: its width, colours and characters, decided by who calls, never looked up here."""

from __future__ import annotations

from typing import Literal, NamedTuple

Role = Literal[
    "title", "strong", "dim", "code", "good", "bad", "high", "medium", "low", "info", "useful", "waste", "added",
    "removed",
]  # fmt: skip

_SGR: dict[Role, str] = {
    "title": "1;4",
    "strong": "1",
    "dim": "2",
    "code": "36",
    "good": "32",
    "bad": "31",
    "high": "1;31",
    "medium": "1;33",
    "low": "1;36",
    "info": "1",
    "useful": "34",
    "waste": "33",
    "added": "32",
    "removed": "31",
}

# One character each, so that columns stay straight; only the arrow grows, and it stands in no column.
_ASCII = str.maketrans(
    {
        "█": "#", "▉": "#", "▊": "#", "▋": "#", "▌": "=", "▍": "-", "▎": "-", "▏": ".", "▓": "%", "▒": "=", "░": "-",
        "▁": "_", "▂": "_", "▃": ".", "▄": "-", "▅": "=", "▆": "=", "▇": "#", "▲": "^", "■": "*", "●": "o", "○": ".",
        "✓": "+", "·": ".", "…": "~", "→": "->",
    }
)  # fmt: skip


class Style(NamedTuple):
    """What the reader's screen can show.

    Args:
        width: Columns to fill.
        color: Whether ANSI colours may be sent.
        unicode: Whether characters beyond ASCII can be shown.
    """

    width: int = 100
    color: bool = False
    unicode: bool = True

    def paint(self, text: str, role: Role) -> str:
        """The text in a role's colour, or as it is where colours are off."""
        return f"\x1b[{_SGR[role]}m{text}\x1b[0m" if self.color and text else text

    def encode(self, text: str) -> str:
        """The text in the characters this style allows."""
        if self.unicode:
            return text
        return text.translate(_ASCII).encode("ascii", "backslashreplace").decode()
