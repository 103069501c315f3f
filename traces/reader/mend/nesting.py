"""Where brackets of JSON begin and end, without decoding what is between them; those in strings do not count."""

from __future__ import annotations

import re
from collections.abc import Iterator

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def event_starts(text: bytes) -> Iterator[int]:
    """Where the objects begin that lie in no other, in a text that begins between two of them."""
    depth = 0
    for match in TOKEN.finditer(text):
        token = match.group()[:1]
        if token in b"{[":
            if depth == 0 and token == b"{":
                yield match.start()
            depth += 1
        elif token in b"}]":
            depth = max(depth - 1, 0)


def object_end(text: bytes) -> int | None:
    """Place of the bracket that closes the object in whose middle `text` begins."""
    depth = 0
    for match in TOKEN.finditer(text):
        token = match.group()[:1]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            if depth == 0:
                return match.start()
            depth -= 1
    return None
