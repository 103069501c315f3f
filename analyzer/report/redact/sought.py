"""What something private looks like, and without which words it is never written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

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
        needs: Of each one word is there, of ASCII: in small letters whatever the text has, in capitals as they stand.
        flags: As for `traces.patterns.Pattern`.
    """

    def __init__(self, pattern: str, *needs: Needed, flags: re.RegexFlag | int = 0) -> None:
        self.pattern = Pattern(pattern, flags)
        self.needs = needs


class Replacements:
    """Everything that is sought in a text and replaced, one after another: what one leaves, the next may find.

    Args:
        sought: Each with what is written in its place.
    """

    def __init__(self, sought: Iterable[tuple[Sought, Instead]]) -> None:
        self.sought = tuple(sought)
        # Many need the same of a text, and many texts have the same.
        words = {word: None for one, _ in self.sought for needed in one.needs for word in needed}
        self._signs = frozenset(word for word in words if len(word) == 1)
        self._words = tuple(word for word in words if len(word) > 1 and not word.isupper())
        self._capitals = tuple(word for word in words if len(word) > 1 and word.isupper())
        self._numbers: dict[tuple[object, ...], tuple[int, ...]] = {}

    def made_in(self, text: str) -> str:
        """The text with all of them."""
        done = -1
        while (found := self._next(text, done)) is not None:
            done, text = found
        return text

    def _next(self, text: str, done: int) -> tuple[int, str] | None:
        """The first behind one that changes the text, by its number, and the text then; None where none does."""
        for number in self._beside(text):
            if number > done:
                one, instead = self.sought[number]
                changed = one.pattern.sub(instead, text)
                if changed != text:
                    return number, changed
        return None

    def _beside(self, text: str) -> tuple[int, ...]:
        """Which may stand in a text; all where other letters than those of ASCII may stand for words, or be words themselves."""
        if not text.isascii() and not text.translate(_OUR_SIGNS).isascii():
            return tuple(range(len(self.sought)))
        small = text.lower()
        signs = self._signs.intersection(small)
        words = tuple([word for word in self._words if word in small])
        capitals = tuple([word for word in self._capitals if word in text])
        there = (signs, words, capitals)
        numbers = self._numbers.get(there)
        if numbers is None:
            held = signs.union(words, capitals)
            numbers = tuple(
                number
                for number, (one, _) in enumerate(self.sought)
                if not any(held.isdisjoint(needed) for needed in one.needs)
            )
            self._numbers[there] = numbers
        return numbers
