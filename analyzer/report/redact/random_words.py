"""Words of letters and digits as only a machine writes them: keys that nothing else announces."""

from __future__ import annotations

import itertools
import re

from analyzer.report.redact.paths import REMOVED
from traces.patterns import Pattern

# It stands alone. Mangled C++ names hold underscores, so they are no such word.
_MIXED = Pattern(r"(?<![\w/+=-])[A-Za-z0-9+/]{32,}={0,2}(?![\w/+-])")
# Of one case. Inductor calls its files and graphs by digests in base32, which has four digits less, and advice names them.
_ONE_CASE = Pattern(
    r"(?<![\w/+=.-])(?:(?=[a-z2-7]*[0189])[a-z0-9]{32,}|(?=[A-Z2-7]*[0189])[A-Z0-9]{32,})(?![\w/+=-]|\.\w)"
)
# With the signs of base64 for addresses: few of its letters are, and many of a kernel's name.
_WITH_SIGNS = Pattern(r"(?<![\w/+=.-])(?!_Z)[\w-]{40,}={0,2}(?![\w/+=(<-]|\.\w)", re.ASCII)
_SIGNS = Pattern(r"[-_=]")
# No shorter run of such signs is one of them: most texts hold none that long.
_LONG = Pattern(r"[\w/+=-]{32}")


def without_random(text: str) -> str:
    """The text with every such word replaced."""
    if not _LONG.search(text):
        return text
    for pattern, is_one in ((_MIXED, _alternates), (_ONE_CASE, _has_digits), (_WITH_SIGNS, _alternates_between_signs)):
        text = pattern.sub(lambda match, is_one=is_one: REMOVED if is_one(match.group()) else match.group(), text)
    return text


def _kinds(word: str) -> str:
    return "".join("d" if c.isdigit() else "u" if c.isupper() else "l" for c in word)


def _changes(kinds: str) -> int:
    return sum(left != right for left, right in itertools.pairwise(kinds))


def _alternates(word: str) -> bool:
    """Whether capitals, small letters and digits alternate as no word of a language does."""
    kinds = _kinds(word)
    if not any(c.islower() for c in word) or "u" not in kinds:
        return False
    return kinds.count("d") >= 3 and _changes(kinds) >= len(word) * 0.4


def _has_digits(word: str) -> bool:
    """Whether digits stand between letters as often as chance sets them, and not behind each, as Triton tells arguments."""
    kinds = _kinds(word)
    return kinds.count("d") >= len(word) * 0.12 and len(word) * 0.2 <= _changes(kinds) <= len(word) * 0.7


def _alternates_between_signs(word: str) -> bool:
    letters = _SIGNS.sub("", word)
    kinds = _kinds(letters)
    return (
        0 < len(word.rstrip("=")) - len(letters) <= len(word) * 0.11
        and min(map(kinds.count, "dul")) >= 3
        and _changes(kinds) >= len(kinds) * 0.5
    )
