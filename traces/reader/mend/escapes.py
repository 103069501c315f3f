"""Mends the text of JSON that some writer did not escape; used only where decoding has failed.

Strings are found first, so that nothing inside them is taken for structure. What cannot be told apart (an unescaped
quote) is left to the caller, who gives up one event.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from traces.patterns import Pattern
from traces.reader.mend.nesting import event_starts

_TOKEN = Pattern(
    rb'(?P<string>"(?:[^"\\]|\\.)*")'
    rb"|(?P<comma>,(?=\s*[}\]]))"
    rb"|(?P<word>[-+]?\b(?:NaN|nan|NAN|Infinity|infinity|inf|Inf|INF|None|undefined)\b(?:\([a-z]+\))?)"
    # From its first digit on only: begun at every digit, a number of a million of them takes a day.
    rb"|(?P<huge>(?<![\d.])-?\d+(?:\.\d*)?[eE]\+?\d{3,})"
    rb"|(?P<true>\bTrue\b)|(?P<false>\bFalse\b)",
    re.DOTALL,
)
_BAD_STRING = Pattern(rb'[\x00-\x1f]|\\(?!["\\/bfnrtu])|\\u(?![0-9a-fA-F]{4})|\\u[dD][89a-fA-F]')
_BAD_ESCAPE = Pattern(rb'\\\\|\\(?!["\\/bfnrtu])|\\u(?![0-9a-fA-F]{4})')
_BACKSLASH = Pattern(rb'\\\\|\\"|\\')
_CONTROL = Pattern(rb"[\x00-\x1f]")
_SURROGATE = Pattern(
    rb"(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def mend(text: bytes) -> tuple[bytes, Counter[str]]:
    """Text that decodes if what was wrong with it is known, and how often each defect was mended."""
    counts: Counter[str] = Counter()
    text = _valid_utf8(text, counts)

    def replace(match: re.Match[bytes]) -> bytes:
        found = match.group()
        kind = match.lastgroup
        if kind == "string":
            return _string(found, counts) if _BAD_STRING.search(found) else found
        if kind == "comma":
            counts["trailing-comma"] += 1
            return b""
        if kind in ("true", "false"):
            counts["wrong-type"] += 1
            return found.lower()
        counts["invalid-number"] += 1
        return b"null"

    text = _TOKEN.sub(replace, text)
    return text, +counts  # without those that are zero


def first_mended(text: bytes, kinds: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The first event in which each of some kinds of defect is mended: its place among the events, and its byte.

    Args:
        text: Events, whole ones.
        kinds: What to look for.
    """
    missing = set(kinds)
    found: dict[str, tuple[int, int]] = {}
    starts = list(event_starts(text)) if missing else []
    for index, (start, end) in enumerate(pairwise([*starts, len(text)])):
        if not missing:
            break
        here = missing & mend(text[start:end])[1].keys()
        found |= dict.fromkeys(here, (index, start))
        missing -= here
    return found


def _valid_utf8(text: bytes, counts: Counter[str]) -> bytes:
    try:
        text.decode()
    except UnicodeDecodeError:
        pass
    else:
        return text
    decoded = text.decode("utf-8", "surrogateescape")
    replaced = re.sub("[\udc80-\udcff]", "\ufffd", decoded)
    counts["invalid-utf8"] += sum(a != b for a, b in zip(decoded, replaced, strict=True))
    return replaced.encode()


def _string(text: bytes, counts: Counter[str]) -> bytes:
    if any(match != b"\\\\" for match in _BAD_ESCAPE.findall(text)):
        # One backslash nobody escaped: then none of this text was, and `\n` in it is a path too.
        text, changed = _doubled(text)
        counts["invalid-escape"] += changed
    text, controls = _CONTROL.subn(lambda match: b"\\u%04x" % match.group()[0], text)
    counts["control-character"] += controls
    lone = sum(not match.group("pair") for match in _SURROGATE.finditer(text))
    if lone:
        counts["invalid-surrogate"] += lone
        text = _SURROGATE.sub(lambda match: match.group("pair") or b"\\ufffd", text)
    return text


def _doubled(text: bytes) -> tuple[bytes, int]:
    changed = 0

    def double(match: re.Match[bytes]) -> bytes:
        nonlocal changed
        found = match.group()
        if found != b"\\":
            return found
        changed += 1
        return b"\\\\"

    return _BACKSLASH.sub(double, text), changed
