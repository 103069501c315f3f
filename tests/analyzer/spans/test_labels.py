"""Categorical columns asked by their vocabulary: what is NA is no text."""

from __future__ import annotations

import pandas as pd
import pytest

from analyzer.spans.labels import codes_of, distinct_texts, in_one_vocabulary, is_any, matching, texts

COLUMN = pd.Series(pd.Categorical(["copy", None, "launch", "copy"], categories=["launch", "copy", "sync"]))
EMPTY = pd.Series(pd.Categorical([], categories=[]))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (("copy",), [True, False, False, True]),
        (("copy", "launch"), [True, False, True, True]),
        # In the vocabulary but in no row, and in neither.
        (("sync",), [False] * 4),
        (("memset",), [False] * 4),
        ((), [False] * 4),
    ],
)
def test_rows_with_one_of_some_texts(wanted: tuple[str, ...], expected: list[bool]) -> None:
    assert is_any(COLUMN, *wanted).tolist() == expected


def test_a_pattern_is_asked_of_texts_only() -> None:
    asked: list[str] = []
    assert matching(COLUMN, lambda text: asked.append(text) or text == "copy").tolist() == [True, False, False, True]
    assert asked == ["launch", "copy", "sync"]
    assert not matching(COLUMN, lambda text: text == "nan").any()


def test_an_empty_column_has_no_rows() -> None:
    assert is_any(EMPTY, "copy").tolist() == matching(EMPTY, bool).tolist() == texts(EMPTY).tolist() == []
    assert distinct_texts(EMPTY) == []


def test_columns_share_one_vocabulary() -> None:
    other = pd.Series(pd.Categorical(["sync", "copy"], categories=["sync", "copy"]))
    (mine, theirs), vocabulary = in_one_vocabulary([COLUMN, other])
    assert [vocabulary[code] if code >= 0 else None for code in mine] == ["copy", None, "launch", "copy"]
    assert [vocabulary[code] for code in theirs] == ["sync", "copy"]
    assert codes_of(COLUMN).tolist() == [1, -1, 0, 1]
