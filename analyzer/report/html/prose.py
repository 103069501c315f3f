"""Strings of a trace for a page: cleaned here, escaped once, by the template or by `markupsafe`."""

from __future__ import annotations

import json

from markupsafe import Markup, escape

from analyzer.page.words import safe
from traces.patterns import Pattern

# Whatever is no letter of ASCII is written as an escape: nothing turns the direction of writing in the page's source.
_NOT_PLAIN = Pattern(r"[^\x20-\x7e]")
_CODE = Pattern(r"(?<!`)`([^`]{1,400})`(?!`)")


def prose(text: str, limit: int = safe.PROSE_LIMIT) -> Markup:
    """A paragraph with `code` in backticks as code."""
    cut = safe.clean(text[: limit * 4])
    cut = cut if len(cut) <= limit else cut[: limit - 1] + "…"
    cut = safe.keep_units(cut)
    pieces: list[Markup] = []
    start = 0
    for match in _CODE.finditer(cut):
        pieces += [escape(cut[start : match.start()]), Markup("<code>{}</code>").format(match.group(1))]
        start = match.end()
    return Markup("").join([*pieces, escape(cut[start:])])


def link(address: str) -> str | None:
    """The address where it may be followed from a report; None for anything but plain https."""
    good = address.startswith("https://") and address.isascii() and address.isprintable() and " " not in address
    return address if good else None


def embedded(document: bytes) -> Markup:
    """JSON for the inside of a script element: nothing in it can end the element or begin a comment."""
    text = _NOT_PLAIN.sub(lambda match: json.dumps(match.group())[1:-1], document.decode())
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
