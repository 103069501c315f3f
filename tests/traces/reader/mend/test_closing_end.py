"""Where brackets close: the same place as by looking at one token after another, without the time that takes in deep text."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_files import read_text, repaired

from traces.reader.decode import boundaries
from traces.reader.mend import nesting
from traces.reader.mend.nesting import TOKEN, closing_end, object_end

EVENT = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"x":%s}}'
TEXT = st.text('ab"\\{}[],:é', max_size=8)
VALUES = st.recursive(
    TEXT | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=40,
)


def one_by_one(text: bytes, depth: int = 0) -> int | None:
    for match in TOKEN.finditer(text):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(match.group(), 0)
        if depth == 0 and match.group() in (b"}", b"]"):
            return match.end()
    return None


@pytest.mark.parametrize("text", [b'{"a": "}', b'{"a": "}]}, {', b'{"a": {"b": "}}\\', b'[["]]'])
def test_a_bracket_in_a_string_that_is_still_open_closes_nothing(text: bytes) -> None:
    assert closing_end(text, 0, len(text)) is None


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4), st.booleans(), st.integers(0, 5))
def test_blocks_find_the_same_end_as_tokens(value: list[Any], ascii_only: bool, tokens: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_TOKENS_ONE_BY_ONE", tokens)
        patch.setattr(nesting, "_FIRST_BLOCK_BYTES", 1)
        patch.setattr(nesting, "_BLOCK_BYTES", 7)
        assert closing_end(text + b', {"a": 1}', 0, len(text) + 10) == len(text) == one_by_one(text)
        assert closing_end(text[:-1], 0, len(text)) is None
        assert object_end(text[1:] + b"}") == len(text) - 2


def test_how_deep_it_gets_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nesting, "_TOKENS_ONE_BY_ONE", 2)
    told: list[tuple[int, int]] = []
    closing_end(b'[[["[[", [1]]]]', 0, 15, check=lambda depth, place: told.append((depth, place)))
    assert told == [(4, 9)]


class Counted:
    """A pattern that counts what Python sees of its matches."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self.seen = 0
        self._pattern = pattern

    def finditer(self, *arguments: Any) -> Iterator[re.Match[bytes]]:
        for match in self._pattern.finditer(*arguments):
            self.seen += 1
            yield match


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_events_are_not_gone_through_bracket_by_bracket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opening: bytes, closing: bytes
) -> None:
    tokens = Counted(TOKEN)
    monkeypatch.setattr(nesting, "TOKEN", tokens)
    deep = opening * 100_000 + b"1" + closing * 100_000
    events = [EVENT % (1, b"2"), *[EVENT % (number, deep) for number in range(2, 7)], EVENT % (7, b"3")]
    trace = read_text(tmp_path, b'{"traceEvents":[' + b",".join(events) + b"]}")
    assert repaired(trace) == {"nested-too-deep": 5}
    assert len(trace.ops) == 2
    assert tokens.seen < 20_000


@settings(deadline=None)
@given(st.lists(st.sampled_from([b'{"a":1}', b",", b" ", b"{", b"}", b'{"a":[{"b":2},{"c":3}]}', b"},{"]), max_size=30))
def test_boundaries_are_the_same_either_way(pieces: list[bytes]) -> None:
    text = b"".join(pieces)
    found = list(boundaries.boundaries(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundaries, "_BRACES_ONE_BY_ONE", 1)
        assert list(boundaries.boundaries(text)) == found
    assert len(deque(found)) <= boundaries.CUTS_TRIED
