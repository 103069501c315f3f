"""Where brackets of JSON begin and end, without decoding what is between them; those in strings do not count."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from traces.patterns import Pattern

# A string that is still open ends with the text: a bracket inside it closes nothing.
TOKEN = Pattern(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
# Events of real traces hold some hundred; what goes on for longer is looked at in blocks: 1.5 us each would be 15 s of 9 MB.
_TOKENS_ONE_BY_ONE = 512
_FIRST_BLOCK_BYTES, _BLOCK_BYTES = 8 << 10, 256 << 10
_QUOTE, _BACKSLASH = b'"\\'
# What a byte adds to the depth.
_DEEPER = np.zeros(256, dtype=np.int8)
_DEEPER[list(b"{[")] = 1
_DEEPER[list(b"}]")] = -1


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


def closing_end(
    text: bytes,
    position: int,
    limit: int,
    *,
    depth: int = 0,
    check: Callable[[int, int], None] = lambda depth, place: None,
) -> int | None:
    """Where the bracket ends that closes what is open, in time linear in the text; None where that is beyond the limit.

    Args:
        text: The text.
        position: Where to begin, outside a string.
        limit: Where to end.
        depth: Brackets that are open there.
        check: Told how deep it gets, and where; raise from it to give up.
    """
    at = position
    tokens = 0
    for match in islice(TOKEN.finditer(text, position, limit), _TOKENS_ONE_BY_ONE):
        tokens += 1
        at = match.end()
        depth += int(_DEEPER[text[match.start()]])
        if depth <= 0 and text[match.start()] in b"}]":
            return at
    return _closing_in_blocks(text, at, limit, depth, check) if tokens == _TOKENS_ONE_BY_ONE else None


def _closing_in_blocks(
    text: bytes, position: int, limit: int, depth: int, check: Callable[[int, int], None]
) -> int | None:
    inside = escaped = False
    start, end, size = position, min(limit, len(text)), _FIRST_BLOCK_BYTES
    while start < end:
        block = np.frombuffer(text, np.uint8, min(end - start, size), start)
        outside, inside, escaped = _outside_strings(block, inside=inside, escaped=escaped)
        depths = depth + np.cumsum(_DEEPER[block] * outside, dtype=np.int64)
        closed = np.flatnonzero(depths <= 0)
        taken = int(closed[0]) + 1 if len(closed) else len(block)
        deepest = int(depths[:taken].argmax())
        check(int(depths[deepest]), start + deepest)
        start += taken
        if len(closed):
            return start
        depth, size = int(depths[-1]), min(2 * size, _BLOCK_BYTES)
    return None


def _outside_strings(
    block: npt.NDArray[np.uint8], *, inside: bool, escaped: bool
) -> tuple[npt.NDArray[np.bool_], bool, bool]:
    """Which bytes stand in no string, shape of the block; whether its end does, and whether a backslash there awaits one.

    Args:
        block: Text.
        inside: Whether it begins in a string.
        escaped: Whether its first byte stands behind a backslash that counts.
    """
    slash = block == _BACKSLASH
    places = np.arange(len(block))
    # How many backslashes stand in a row up to each byte; one before the block counts as one.
    last_other = np.maximum.accumulate(np.where(slash, -1 - escaped, places))
    row = places - last_other
    before = np.append(int(escaped), row[:-1])
    quote = (block == _QUOTE) & (before % 2 == 0)
    opened = (inside + np.cumsum(quote)) % 2 == 1
    return ~(opened | quote), bool(opened[-1]), bool(slash[-1] and row[-1] % 2)


def object_end(text: bytes) -> int | None:
    """Place of the bracket that closes the object in whose middle `text` begins."""
    end = closing_end(text, 0, len(text), depth=1)
    return None if end is None else end - 1
