"""The first step of making a trace's strings harmless. Imports nothing: error messages need it when all else is broken."""

from __future__ import annotations


def clean(text: str) -> str:
    r"""One line without control, direction or private characters: each is shown as `\x1b`, `\u202e`.

    Line breaks and tabs become spaces.
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\r\t\xa0":
        return " "
    return character.encode("unicode_escape").decode("ascii")
