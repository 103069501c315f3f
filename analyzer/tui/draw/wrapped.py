"""Lines of a width, broken where a reader would: never between a number and its unit."""

from __future__ import annotations

from textual.content import Content

from analyzer.page.words.safe import tie_units

# Textual breaks at a no-break space, too. No text holds this one: what is drawn was cleaned of characters of private use.
_TIE = "\ue000"


def wrapped(content: Content, width: int) -> list[Content]:
    """The lines of `content` at `width` cells."""
    tied = Content(tie_units(content.plain, _TIE), list(content.spans))
    lines = tied.wrap(max(1, width))
    return [Content(one.plain.replace(_TIE, " "), list(one.spans)) for one in lines]
