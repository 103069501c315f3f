"""Regular expressions that are compiled when they are first asked.

A module states some at its top, and four hundred of them were a tenth of what it takes to explain a small trace; nearly half ask
about what a trace does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, AnyStr, Generic


class Pattern(Generic[AnyStr]):
    """What `re.compile` gives, as soon as something is asked of it; what is wrong with the text shows then, too.

    It is no `re.Pattern`, so that nothing takes it for one: functions of `re` and pandas want its `pattern`.

    Args:
        pattern: The regular expression.
        flags: As for `re.compile`.
    """

    pattern: AnyStr
    flags: int
    groups: int
    groupindex: Mapping[str, int]
    search: Callable[..., re.Match[AnyStr] | None]
    match: Callable[..., re.Match[AnyStr] | None]
    fullmatch: Callable[..., re.Match[AnyStr] | None]
    finditer: Callable[..., Iterator[re.Match[AnyStr]]]
    findall: Callable[..., list[Any]]
    split: Callable[..., list[AnyStr]]
    sub: Callable[..., AnyStr]
    subn: Callable[..., tuple[AnyStr, int]]

    def __init__(self, pattern: AnyStr, flags: re.RegexFlag | int = 0) -> None:
        # Known without compiling it: others are made of it.
        self.pattern, self._flags = pattern, flags

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "_compiled":
                self._compiled = re.compile(self.pattern, self._flags)
                return self._compiled
            value = getattr(self._compiled, name)
            # The next time it is found without this call, as fast as in a compiled one.
            setattr(self, name, value)
            return value


class WordedPattern:
    """A pattern that is asked only of texts that hold one of its words: looking for words takes a tenth of the time.

    A text without any of them cannot match: every way through the pattern has one, which the tests prove for each that is stated.

    Args:
        words: Words of which every match holds one, separated by spaces; case counts.
        pattern: The regular expression.
    """

    def __init__(self, words: str, pattern: str) -> None:
        self.words, self.pattern = tuple(words.split()), pattern
        self._asked = Pattern(pattern)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match in a text, as of `re.Pattern.search`; None where there is none."""
        for word in self.words:
            if word in text:
                return self._asked.search(text)
        return None
