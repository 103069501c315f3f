"""Code in a pane: on its own background, diffs coloured.

Where a pane can be moved sideways (`shift`), long lines go on beyond its edge; elsewhere they go on below where they begin.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, chop_cells, set_cell_size
from textual.content import Content

from analyzer.tui.look.plain import clean
from traces.patterns import Pattern

_DIFF_STYLES = {"+": "$good on $block-back", "-": "$bad on $block-back", "@": "$quiet on $block-back"}
_ALIGNED = Pattern(r"(?<=\S) {3,}(?=#)")
# More of a line is on that side.
LEFT, RIGHT = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
# How much farther in than its line a continuation stands, and how many cells it keeps whatever its line's indentation is.
_HANGING, _LEAST = 4, 12


def code_block(code: str, language: str, width: int, shift: int | None = None) -> list[Content]:
    """The code; wrapped at the width, so that nothing is lost, or the part of each line behind `shift`.

    Args:
        code: What to show.
        language: `diff` has its first column for marks; of `shell` the first line is asked for.
        width: Cells.
        shift: Cells that lie to the left of the pane; None to wrap.
    """
    prefix = "$ " if language == "shell" else ""
    if shift is not None:
        # Code that fits stays where it is, beside other that is moved.
        shift = min(shift, beyond(code, language, width))
    lines: list[Content] = []
    for number, text in enumerate(clean(code).splitlines() or [""]):
        style = _DIFF_STYLES.get(text[:1], "$body on $block-back") if language == "diff" else "$body on $block-back"
        if shift is None and cell_len(text) > width - 2 - len(prefix):
            # Comments that are aligned with those of other lines would be pushed onto a line of their own.
            text = _ALIGNED.sub("  ", text)
        whole = (prefix if number == 0 else " " * len(prefix)) + text
        room, marks = max(4, width - 2), len(prefix) or int(language == "diff")
        pieces = (
            [_moved(whole, room, shift, marks)]
            if shift is not None
            else _wrapped(whole, room, marked=language == "diff")
        )
        for piece in pieces:
            free = max(0, width - 1 - cell_len(piece))
            lines.append(Content.styled(f" {piece}{' ' * free}", style))
    return lines


def beyond(code: str, language: str, width: int) -> int:
    """By how many cells the longest line of code is longer than the pane; what it can be moved by."""
    prefix = 2 if language == "shell" else 0
    longest = max((cell_len(text) for text in clean(code).splitlines()), default=0)
    return max(0, prefix + longest - max(4, width - 2))


def _moved(text: str, width: int, shift: int, marks: int) -> str:
    """The part of a line that the pane shows, its marks (`+`, `$ `) always; an arrow stands where more of it is."""
    head, body = text[:marks], text[marks:]
    room = width - marks
    more = cell_len(body) - shift > room
    shown = set_cell_size(_behind(body, shift), room - 1) + RIGHT if more else _behind(body, shift)
    # Where the indentation alone has left the pane nothing is hidden.
    hidden = bool(body[:shift].strip())
    return head + (LEFT + _behind(shown, 1) if hidden else shown)


def _behind(text: str, cells: int) -> str:
    """What is left of a line without its first cells; half of a wide letter is a blank."""
    left = text
    while left and cell_len(text) - cell_len(left) < cells:
        left = left[1:]
    return " " * (cell_len(text) - cells - cell_len(left)) + left


def _wrapped(text: str, width: int, *, marked: bool) -> Iterator[str]:
    """The pieces of a line, broken at blanks where that is possible; none begins farther left than the line does."""
    body = text[1:] if marked else text
    indent = len(body) - len(body.lstrip(" ")) + (1 if marked else 0)
    hanging = min(indent + _HANGING, max(0, width - _LEAST))
    start, least = "", indent
    while cell_len(start + text) > width:
        fits = len(chop_cells(text, width - len(start))[0])
        at = text.rfind(" ", 0, fits + 1)
        # Of a line whose first word is too long the word is broken, not the indentation.
        at = at if at > least else fits
        yield start + text[:at].rstrip()
        text, start, least = text[at:].lstrip(" "), " " * hanging, 0
    yield start + text
