"""Trace strings as the screen shows them: cleaned as in the reports, and never markup: they only become `Content`."""

from __future__ import annotations

from analyzer.page.words import safe

LONGEST = 20_000


def clean(text: str, limit: int = LONGEST) -> str:
    """`text` line by line without anything a terminal could obey, cut at `limit` characters."""
    return "\n".join(safe.code(text[:limit])) + ("…" if len(text) > limit else "")


def line(text: str, limit: int = safe.PROSE_LIMIT) -> str:
    """`text` on one line of at most `limit` columns."""
    return safe.name(text, limit).strip()
