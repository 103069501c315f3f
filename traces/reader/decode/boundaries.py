"""Where one event ends and the next begins, as far as text shows it without being decoded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from traces.patterns import Pattern

# Places tried before a block counts as damaged: each costs one decode up to the defect.
CUTS_TRIED = 3
# What stands between two events.
GAP_BYTES = b", \t\r\n"
_GAP = Pattern(rb"[\s,]*")
_BOUNDARY = Pattern(rb"\}(?=\s*,\s*\{)")
# A real event holds some ten braces; where so many are between none, another way through them all is twenty times as fast.
_BRACES_ONE_BY_ONE = 1_000


def gap(text: bytes, end: int) -> int:
    """Length of what stands between two events, at the beginning of a text."""
    found = _GAP.match(text, 0, end)
    return found.end() if found else 0


def boundaries(buffer: bytes) -> Iterator[int]:
    """Places between two events, from the right: just after a `}` that is followed by `,` and `{`."""
    end = len(buffer)
    found = looked = 0
    while found < CUTS_TRIED:
        brace = buffer.rfind(b"{", 0, end)
        looked += 1
        if looked > _BRACES_ONE_BY_ONE:
            last = deque(_BOUNDARY.finditer(buffer, 0, end), CUTS_TRIED - found)
            yield from (match.end() for match in reversed(last))
            return
        if brace < 0:
            return
        end = brace
        before = buffer[max(brace - 64, 0) : brace].rstrip()
        if not before.endswith(b","):
            continue
        before = before[:-1].rstrip()
        if before.endswith(b"}"):
            found += 1
            yield max(brace - 64, 0) + len(before)
