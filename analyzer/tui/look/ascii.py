"""For terminals without Unicode: whatever is drawn, by us or by Textual, leaves as ASCII of the same width."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

# Frames, the heavy ones (the focus, without colour) apart from the others; scroll bars; signs.
_GROUPS = {
    "-": "─╌╴╶·–▀",  # noqa: RUF001
    "|": "│╵╷▏▎▍▌▋▊▉▐▕",
    "+": "╭╮╰╯┌┐└┘├┤┬┴┼✓",
    "=": "━═┏┓┗┛┣┫┳┻╋╸╺",
    "#": "┃║█",
    "_": "▁▂▃▄▅▆▇",
    "~": "…",
    ">": "→›",  # noqa: RUF001
    "<": "‹",  # noqa: RUF001
    "^": "▲",
    "o": "○●",
}
_ALIKE = {char: plain for plain, alike in _GROUPS.items() for char in alike}


class AsciiFilter(LineFilter):
    """Replaces what is not ASCII by something alike, or by `?`."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments in ASCII."""
        return [
            segment if segment.text.isascii() else Segment(to_ascii(segment.text), segment.style, segment.control)
            for segment in segments
        ]


def to_ascii(text: str) -> str:
    """Each character alike, or a `?` for each cell it takes."""
    return "".join(char if char.isascii() else _ALIKE.get(char, "?" * cell_len(char)) for char in text)
