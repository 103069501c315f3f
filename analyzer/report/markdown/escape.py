"""Strings of a trace in Markdown: shown as they are, never as markup, mention, link or emoji.

What is not plain prose goes into a code span whose fence is longer than any run of backticks inside. GitHub turns
`@name`, `#12`, `:cat:` and bare addresses into something else after Markdown is done, so a backslash does not stop it;
a code span does.
"""

from __future__ import annotations

import html
import re

from analyzer.page.words import safe
from traces.patterns import Pattern

_CODE_SPAN = Pattern(r"(?<!`)`([^`]{1,400})`(?!`)")
_PLAIN_WORD = Pattern(r"[\w.,;!?%()/'\"+=:→·…×–&-]+", re.UNICODE)  # noqa: RUF001
_SPECIAL = Pattern(r"_|://|::|:\w+:|&\w|&#|www\.|GH-\d|^[0-9a-f]{7,40}$|[-=+]{3,}", re.IGNORECASE)
_EDGES = Pattern(r"^([('\"]*)(.*?)([)'\",.;:!?%]*)$", re.DOTALL)
_LINE_START = Pattern(r"^([-+=])(?=\s|[-+=]|$)|^(\d+)(?=[.)](?:\s|$))")
# A backslash before the bar would escape our own.
_BARS = Pattern(r"(\\*)\|")
_BACKTICKS = Pattern(r"`+")


def code(text: str, limit: int = safe.NAME_LIMIT) -> str:
    """A code span of one line; an empty text is shown as a dash."""
    shown = safe.name(text, limit).strip()
    if not shown:
        return "-"
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(shown)), default=0) + 1)
    gap = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{gap}{shown}{gap}{fence}"


def prose(text: str, limit: int = safe.PROSE_LIMIT) -> str:
    """A paragraph of one line. `code` in backticks stays code; every word that could be markup becomes code."""
    cleaned = safe.clean(text[: limit * 4])
    cut = cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"
    pieces: list[str] = []
    start = 0
    for match in _CODE_SPAN.finditer(cut):
        pieces += [_words(cut[start : match.start()]), code(match.group(1))]
        start = match.end()
    joined = "".join([*pieces, _words(cut[start:])]).strip()
    return _LINE_START.sub(lambda match: f"\\{match.group(1)}" if match.group(1) else f"{match.group(2)}\\", joined)


def _words(text: str) -> str:
    return " ".join(_word(word) if word else "" for word in text.split(" "))


def _word(word: str) -> str:
    if _PLAIN_WORD.fullmatch(word) and not _SPECIAL.search(word):
        return safe.middle(word, safe.NAME_LIMIT).replace("&", "&amp;")
    match = _EDGES.match(word)
    before, middle, after = match.groups() if match else ("", word, "")
    # Backticks cannot be split off a word without changing where code begins.
    if not middle or "`" in before + after:
        return code(word)
    return f"{before}{code(middle)}{after}"


def cell(text: str) -> str:
    """Markdown that may stand in a table: a bar would end the cell, inside code too."""
    return _BARS.sub(lambda match: f"{match.group(1)} \\|" if match.group(1) else "\\|", text)


def figure(text: str) -> str:
    """A number that stays on the line of its unit."""
    return text.replace(" ", "&nbsp;")


def inline_html(text: str, limit: int = safe.NAME_LIMIT) -> str:
    """Text for inside a tag, where Markdown is not read but GitHub still looks for mentions, links and emoji."""
    shown = safe.name(text, limit)
    parts = [
        html.escape(word)
        if _PLAIN_WORD.fullmatch(word) and not _SPECIAL.search(word)
        else f"<code>{html.escape(word)}</code>"
        for word in shown.split(" ")
        if word
    ]
    return " ".join(parts)


def block(text: str, language: str = "", most_lines: int = 40) -> str:
    """A fenced block whose fence the text cannot close."""
    lines = safe.code(text.rstrip("\n"))
    more = [f"… {len(lines) - most_lines} more lines"] if len(lines) > most_lines else []
    kept = [safe.middle(line, 200) for line in lines[:most_lines]] + more
    longest = max((len(run) for line in kept for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *kept, fence])
