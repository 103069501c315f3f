"""What else advisor writes, and people give as a trace."""

from __future__ import annotations

import re

from traces.patterns import Pattern

_VERSIONED = rb'\A\s*\{\s*"schema_version"\s*:\s*"[\d.]*"\s*,\s*'
COMPARISON, TUNING = (Pattern(_VERSIONED + first) for first in (rb'"before"\s*:', rb'"tool"\s*:\s*"'))
_TRACE = "give the trace that it was made from"
_KINDS: tuple[tuple[Pattern[bytes], tuple[str, str]], ...] = (
    (
        Pattern(_VERSIONED + rb'"tool"\s*:\s*\{'),
        ("a report that advisor wrote", f"{_TRACE}; `advisor explain` opens the report"),
    ),
    (COMPARISON, ("a comparison that advisor wrote", "give the trace of one side")),
    (TUNING, ("the result of a tuning", "give the recording, baseline.json in the folder of the tuning")),
    (Pattern(rb'\A\s*\{\s*"kind"\s*:\s*"advisor-rank-summary"'), ("the summary of a rank", _TRACE)),
    (
        Pattern(rb'\A\s*\{\s*"version"\s*:\s*"[\d.]*"\s*,\s*"name"\s*:\s*"[^"]*"\s*,\s*"runs"\s*:'),
        ("a baseline that advisor keeps", "hold a trace against it: `advisor explain TRACE --baseline FILE`"),
    ),
    (
        Pattern(rb'\A\s*<!doctype html>.{0,200}?<meta name="generator" content="advisor ', re.DOTALL | re.IGNORECASE),
        ("a page that advisor wrote", _TRACE),
    ),
)


def own_document(head: bytes) -> tuple[str, str] | None:
    """What a file that is no trace is to advisor, which wrote it, and what to do; None where it did not.

    Args:
        head: The beginning of the text.
    """
    return next((answer for pattern, answer in _KINDS if pattern.search(head)), None)
