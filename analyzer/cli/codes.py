"""Rule codes as people type them: lower case, by name, by prefix, misspelt."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.rule import Rule


def nearest(word: str, known: Iterable[str]) -> str:
    """` Did you mean DL001 or DL002?`, or nothing where no known word is near."""
    exact = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), exact, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(exact[name] for name in close)}?" if close else ""


def find(word: str, rules: Sequence[Rule]) -> Rule:
    """The rule of this code or name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    wanted = word.strip().lower()
    for rule in rules:
        if wanted in (rule.meta.code.lower(), rule.meta.name.lower()):
            return rule
    raise _unknown(word, rules)


def expand(words: str | None, rules: Sequence[Rule], option: str) -> tuple[str, ...]:
    """The codes that a comma-separated list of codes, prefixes (`DL` is every DL rule) and names selects.

    Raises:
        UsageError: a word selects nothing.
    """
    if words is None:
        return ()
    chosen: list[str] = []
    for word in filter(None, (part.strip() for part in words.split(","))):
        matches = _matching(word, rules)
        if not matches:
            raise _unknown(word, rules, option)
        chosen.extend(matches)
    if not chosen:
        raise UsageError(f"{option} names no rule", fix="give codes separated by commas, for example DL001,SY")
    return tuple(dict.fromkeys(chosen))


def _matching(word: str, rules: Sequence[Rule]) -> list[str]:
    if word.upper() == "ALL":
        return [rule.meta.code for rule in rules]
    return [
        rule.meta.code
        for rule in rules
        if rule.meta.code.startswith(word.upper()) or rule.meta.name.lower() == word.lower()
    ]


def _unknown(word: str, rules: Sequence[Rule], where: str | None = None) -> UsageError:
    names = [rule.meta.code for rule in rules] + [rule.meta.name for rule in rules]
    return UsageError(
        f"there is no rule {word[:60]!r}.{nearest(word, names)}", where=where, fix="`advisor rules` lists them all"
    )
