"""The same text in other writings, in which a secret looks like none: percent signs, base64, escapes, letters that look alike."""

from __future__ import annotations

import base64
import binascii
import unicodedata
from collections.abc import Callable
from html import unescape
from urllib.parse import unquote

from analyzer.report.redact.paths import REMOVED
from traces.patterns import Pattern

Clean = Callable[[str], str]

_BLANKS = Pattern(r"(\s+)")
_MEANS_ANOTHER = Pattern(r"[%\\&]")
# As JSON and Python write a letter by its number.
_NUMBERED = Pattern(r"\\{1,4}(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_PERCENT = Pattern(r"%[0-9A-Fa-f]{2}")
# Twice is seen: an address inside an address. More often nobody writes it.
_MOST_TIMES = 3
# Shorter ones hold no name and value.
_BASE64 = Pattern(r"[A-Za-z0-9+/_-]{16,}")
# Letters of ASCII at the width of Chinese ones, and how far they are from them.
_WIDE = range(0xFF01, 0xFF5F)
_WIDER_BY = 0xFEE0


def in_any(text: str, clean: Clean) -> str:
    """The text without what can be seen to be private in another writing of it.

    Args:
        text: What is to be shown.
        clean: Takes out what is private in its own writing.
    """
    text = clean(_plain(text, clean))
    if _MEANS_ANOTHER.search(text):
        text = "".join(word if word.isspace() else _read(word, clean) for word in _BLANKS.split(text))
    return _BASE64.sub(lambda match: REMOVED if _holds(match.group(), clean) else match.group(), text)


def _plain(text: str, clean: Clean) -> str:
    """The text in plain letters and without invisible ones, where something private shows then; else as it is."""
    if text.isascii():
        return text
    plain = "".join(
        chr(ord(letter) - _WIDER_BY) if ord(letter) in _WIDE else letter
        for letter in text
        if unicodedata.category(letter) != "Cf"
    )
    return plain if plain != text and clean(plain) != plain else text


def _read(word: str, clean: Clean) -> str:
    """A word as it is meant, cleaned, where there is something to clean; else as it stands."""
    meant = unescape(word.replace("\\/", "/"))
    meant = _NUMBERED.sub(lambda match: chr(int(match[1] or match[2], 16)), meant)
    for _ in range(_MOST_TIMES):
        if not _PERCENT.search(meant):
            break
        meant = unquote(meant)
    if meant == word:
        return word
    cleaned = clean(meant)
    return cleaned if cleaned != meant else word


def _holds(word: str, clean: Clean) -> bool:
    """Whether a word is the base64 of a text in which something is private."""
    padded = word.translate({ord("-"): "+", ord("_"): "/"}) + "=" * (-len(word) % 4)
    try:
        text = base64.b64decode(padded, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return all(letter.isprintable() or letter.isspace() for letter in text) and clean(text) != text
