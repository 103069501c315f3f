"""Rule pages: the little Markdown they are written in, drawn. What is none of it stays as it is written."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from analyzer.tui.draw.code import code_block
from analyzer.tui.draw.finding import heading, prose
from analyzer.tui.draw.wrapped import wrapped
from traces.patterns import Pattern

_FENCE = "```"
_ITEM = Pattern(r"(?:[-*]|\d+[.)]) ")


def markdown(text: str, width: int, shift: int | None = None) -> Content:
    """Headings, paragraphs, lists and code at a width in cells; `shift` as for `code_block`."""
    return Content("\n").join(_blocks(text.splitlines(), max(width, 1), shift))


def _blocks(lines: list[str], width: int, shift: int | None) -> Iterator[Content]:
    paragraph: list[str] = []
    code: list[str] | None = None
    language = ""
    for one in [*lines, ""]:
        if code is not None:
            if one.startswith(_FENCE):
                yield from code_block("\n".join(code), language, width, shift)
                code = None
            else:
                code.append(one)
            continue
        if _continues(one, paragraph):
            paragraph.append(one.strip())
            continue
        yield from _paragraph(paragraph, width)
        paragraph = []
        if one.startswith(_FENCE):
            code, language = [], one.removeprefix(_FENCE).strip()
        elif one.startswith("#"):
            yield heading(one.lstrip("#").strip())
        elif _ITEM.match(one) or (one and not one.startswith(("|", " "))):
            paragraph = [one]
        else:
            yield prose(one)
    if code:
        yield from code_block("\n".join(code), language, width, shift)


def _continues(one: str, paragraph: list[str]) -> bool:
    """Whether a line belongs to what stands above it."""
    return bool(paragraph) and bool(one.strip()) and not one.startswith(("#", "|", _FENCE)) and not _ITEM.match(one)


def _paragraph(lines: list[str], width: int) -> Iterator[Content]:
    """Filled to the width; what follows the first line of a list's item stands under its text."""
    if not lines:
        return
    text = " ".join(lines)
    item = _ITEM.match(text)
    mark = item.group() if item else ""
    pieces = wrapped(prose(text[len(mark) :]), width - len(mark))
    for number, piece in enumerate(pieces):
        yield Content.assemble((mark if number == 0 else " " * len(mark), "$quiet"), piece)
