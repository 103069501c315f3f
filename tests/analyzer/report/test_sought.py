"""A pattern is not searched for where a word is missing that it needs: then it must need it, in each of its branches."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.report.redact import secrets
from analyzer.report.redact.sought import Replacements, Sought

try:
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_parse as parser  # type: ignore[no-redef]

# Of a set of letters in a pattern; larger ones spell no word.
_FEW = 24


def cannot_do_without(items: Any, words: Collection[str]) -> bool:
    """Whether in whatever a parsed pattern matches one of the words stands, in letters of any size but for words of capitals; may
    say no where it does.

    What a text of ASCII cannot match needs every word.
    """
    items = list(items)
    while items:
        run = list(itertools.takewhile(lambda item: _letters(*item) is not None, items))
        if _spells([_letters(*item) or [] for item in run], words):
            return True
        items = items[len(run) :]
        if items:
            name, value = items.pop(0)
            behind = itertools.takewhile(lambda item: _letters(*item) is not None, items)
            if _needed_inside(str(name), value, words, run, list(behind)):
                return True
    return False


def _letters(kind_of: Any, value: Any) -> list[str] | None:
    """The letters that may stand at a place, where they are few."""
    name = str(kind_of)
    if name == "LITERAL":
        return [chr(value)]
    if name != "IN" or any(str(kind) == "NEGATE" for kind, _ in value):
        return None
    found: list[str] = []
    for kind, one in value:
        if str(kind) == "LITERAL":
            found.append(chr(one))
        elif str(kind) == "RANGE" and one[1] - one[0] < _FEW:
            found += map(chr, range(one[0], one[1] + 1))
        elif str(kind) == "CATEGORY" and str(one) == "CATEGORY_DIGIT":
            found += "0123456789"
        else:
            return None
    return found if len(found) <= _FEW else None


def _spells(spelt: list[list[str]], words: Collection[str]) -> bool:
    """Whether some places, one behind another, hold a word whatever stands there."""
    for size in range(1, max(map(len, words)) + 1):
        for at in range(len(spelt) - size + 1):
            texts = list(map("".join, itertools.product(*spelt[at : at + size])))
            if len(texts) <= 64 and all(not text.isascii() or _has_one(text, words) for text in texts):
                return True
    return False


def _has_one(text: str, words: Collection[str]) -> bool:
    return any(word in (text if word.isupper() else text.lower()) for word in words)


def _needed_inside(name: str, value: Any, words: Collection[str], before: list[Any], behind: list[Any]) -> bool:
    """The same of what a place holds; letters before and behind it may be a part of the word."""
    if name == "SUBPATTERN":
        return cannot_do_without([*before, *value[3], *behind], words)
    if name == "BRANCH":
        return all(cannot_do_without([*before, *branch, *behind], words) for branch in value[1])
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        return value[0] > 0 and cannot_do_without(value[2], words)
    # What must not stand there says nothing of it.
    return name == "ASSERT" and cannot_do_without(value[1], words)


@pytest.mark.parametrize("number", range(len(secrets.SECRETS.sought)))
def test_a_pattern_needs_its_words(number: int) -> None:
    sought, _ = secrets.SECRETS.sought[number]
    assert sought.needs
    parsed = parser.parse(sought.pattern.pattern, sought.pattern.flags)
    for words in sought.needs:
        # Capitals are sought as they stand: whoever ignores their size cannot need them.
        assert all(
            word.isascii() and (word == word.lower() or (word.isupper() and not parsed.state.flags & re.IGNORECASE))
            for word in words
        )
        assert cannot_do_without(parsed, words), (sought.pattern.pattern, words)


@pytest.mark.parametrize(
    ("pattern", "words", "needed"),
    [
        ("a@b", ("@",), True),
        ("a@?b", ("@",), False),
        ("(?:x@)*b", ("@",), False),
        ("(?:x@)+b", ("@",), True),
        ("@|:", ("@",), False),
        ("@|:", ("@", ":"), True),
        ("a[^@]", ("@",), False),
        ("a(?!@)", ("@",), False),
        ("a(?=@)", ("@",), True),
        ("KEY", ("key",), True),
        ("KEY", ("KEY",), True),
        ("key", ("KEY",), False),
        ("k.y", ("key",), False),
        ("licen[cs]e", ("cense",), False),
        ("licen[cs]e", ("cense", "cence"), True),
        (r"\d", tuple("0123456789"), True),
        (r"\d", tuple("012345678"), False),
        (r"\w", tuple("0123456789"), False),
        ("secret|пароль", ("secret",), True),
        ("(?:ab|ac)d", ("abd", "acd"), True),
        ("(?:ab|ac)d", ("abd",), False),
        ("x(ab|(?:cd))", ("xab", "xcd"), True),
    ],
)
def test_what_a_pattern_needs_is_read_off_it(pattern: str, words: Collection[str], needed: bool) -> None:
    assert cannot_do_without(parser.parse(pattern), words) is needed


_PIECES = [
    *sorted({word for sought, _ in secrets.SECRETS.sought for needed in sought.needs for word in needed}),
    "SECRET", "HF_TOKEN", "\u017fecret", "to\u212aen", "пароль", "é", "→", "…", "\u0663", "[redacted]", "hunter2", "a1b2c3d4",
    "bob", "gpu-node-042", "192.168.1.20", "/", "\\", " ", "\n", "(", ")", "{", "}", "[", "]", "<", ">", "|", "is", "at",
    "+49 170 1234567",
]  # fmt: skip
_EVERYWHERE = Replacements(
    (Sought(sought.pattern.pattern, flags=sought.pattern.flags), instead) for sought, instead in secrets.SECRETS.sought
)


# The first example compiles all patterns.
@settings(deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_what_is_not_searched_would_not_have_been_found(text: str) -> None:
    assert secrets.SECRETS.made_in(text) == _EVERYWHERE.made_in(text)


@pytest.mark.parametrize("text", ["\u017fecret=hunter2", "to\u212aen: hunter2", "пароль: hunter2", "→ SECRET=hunter2"])
def test_a_word_in_other_letters_is_found(text: str) -> None:
    assert "hunter2" not in secrets.without_secrets(text)


def test_a_pattern_that_no_text_asks_for_is_not_compiled() -> None:
    sought = Sought("(?i)(tok)en=", ("token",), ("=",))
    replacements = Replacements([(sought, "x")])
    for text in ("", "a token", "a=b…"):
        assert replacements.made_in(text) == text
    assert "sub" not in vars(sought.pattern)
    assert replacements.made_in("token TOKEN=1") == "token x1"
    assert "sub" in vars(sought.pattern)
