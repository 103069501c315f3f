"""Code in a pane: on its own background, diffs coloured, long lines continued below where they begin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len, chop_cells
from textual.content import Content

from analyzer.tui.look.plain import clean

_DIFF_STYLES = {"+": "$good on $block-back", "-": "$bad on $block-back", "@": "$quiet on $block-back"}
_ALIGNED = re.compile(r"(?<=\S) {3,}(?=#)")
# How much farther in than its line a continuation stands, and how many cells it keeps whatever its line's indentation is.
_HANGING, _LEAST = 4, 12


def code_block(code: str, language: str, width: int) -> list[Content]:
    """The code, wrapped at the width so that nothing is lost.

    Args:
        code: What to show.
        language: `diff` has its first column for marks; of `shell` the first line is asked for.
        width: Cells.
    """
    prefix = "$ " if language == "shell" else ""
    lines: list[Content] = []
    for number, text in enumerate(clean(code).splitlines() or [""]):
        style = _DIFF_STYLES.get(text[:1], "$body on $block-back") if language == "diff" else "$body on $block-back"
        if cell_len(text) > width - 2 - len(prefix):
            # Comments that are aligned with those of other lines would be pushed onto a line of their own.
            text = _ALIGNED.sub("  ", text)
        whole = (prefix if number == 0 else " " * len(prefix)) + text
        for piece in _wrapped(whole, max(4, width - 2), marked=language == "diff"):
            free = max(0, width - 1 - cell_len(piece))
            lines.append(Content.styled(f" {piece}{' ' * free}", style))
    return lines


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
