"""What something private looks like, and without which words it is never written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set

from traces.patterns import Pattern

Needed = tuple[str, ...]
# By which one that is found is replaced: the same for all, or what is made of each.
Instead = str | Callable[[re.Match[str]], str]
# Signs of our own texts (ellipsis, arrow, at most, at least); no pattern spells them.
_OUR_SIGNS = str.maketrans(dict.fromkeys("\u2026\u2192\u2264\u2265"))


class Sought:
    """A pattern, and words without which nothing is written that it matches.

    A text without them is not searched, and a pattern that no text asks for is never compiled: of the fifty that a report passes,
    that was most of the time. A test reads off each pattern that it cannot match without its words.

    Args:
        pattern: What it looks like.
        needs: Of each one word is there, in small letters of ASCII.
        flags: As for `traces.patterns.Pattern`.
    """

    def __init__(self, pattern: str, *needs: Needed, flags: re.RegexFlag | int = 0) -> None:
        self.pattern = Pattern(pattern, flags)
        self.needs = tuple(map(frozenset, needs))

    def may_stand_beside(self, words: Set[str]) -> bool:
        """Whether it may stand in a text in which these of all words stand."""
        for needed in self.needs:  # noqa: SIM110
            if needed.isdisjoint(words):
                return False
        return True


class Replacements:
    """Everything that is sought in a text and replaced, one after another: what one leaves, the next may find.

    Args:
        sought: Each with what is written in its place.
    """

    def __init__(self, sought: Iterable[tuple[Sought, Instead]]) -> None:
        self.sought = tuple(sought)
        self.words = frozenset(word for one, _ in self.sought for needed in one.needs for word in needed)

    def made_in(self, text: str) -> str:
        """The text with all of them."""
        words = self._words_in(text)
        for one, instead in self.sought:
            if one.may_stand_beside(words):
                before, text = text, one.pattern.sub(instead, text)
                if text != before:
                    words = self._words_in(text)
        return text

    def _words_in(self, text: str) -> Set[str]:
        """Which words stand in a text; all where other letters than those of ASCII may stand for them, or be words themselves."""
        if not text.isascii() and not text.translate(_OUR_SIGNS).isascii():
            return self.words
        small = text.lower()
        return {word for word in self.words if word in small}
