"""Texts of categorical columns, asked once per distinct text: a trace has millions of names and hundreds of distinct ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from traces.categories import from_codes


def codes_of(values: pd.Series[Any]) -> npt.NDArray[np.signedinteger[Any]]:
    """The place of each text of a categorical column in its vocabulary, -1 for NA; as `.cat.codes`, for a tenth. Shape (rows,)."""
    codes: npt.NDArray[np.signedinteger[Any]] = cast("pd.Categorical", values.array).codes
    return codes


def distinct_texts(values: pd.Series[Any]) -> list[str]:
    """The vocabulary of a categorical column, in the order of its codes."""
    vocabulary = cast("pd.Categorical", values.array).categories
    listed: list[str] = vocabulary.tolist()
    # Asked for hundreds of times, and to make texts of texts takes most of it.
    return listed if isinstance(vocabulary.dtype, pd.StringDtype) else list(map(str, listed))


def texts(values: pd.Series[Any]) -> npt.NDArray[np.object_]:
    """The texts of a categorical column; an empty one where there is none. Shape (rows,)."""
    distinct = np.array([*distinct_texts(values), ""], dtype=object)
    found: npt.NDArray[np.object_] = distinct.take(codes_of(values))
    return found


def matching(values: pd.Series[Any], matches: Callable[[str], object]) -> npt.NDArray[np.bool_]:
    """Rows of a categorical column whose text matches; NA never does. Shape (rows,)."""
    answers = [*map(bool, map(matches, distinct_texts(values))), False]
    if not any(answers):
        return np.zeros(len(values), dtype=np.bool_)
    # For codes of few bytes, a third of what indexing takes.
    found: npt.NDArray[np.bool_] = np.array(answers).take(codes_of(values))
    return found


def is_any(values: pd.Series[Any], *wanted: str) -> npt.NDArray[np.bool_]:
    """Rows of a categorical column whose text is one of these; NA never is. Shape (rows,)."""
    column = cast("pd.Categorical", values.array)
    vocabulary = column.categories
    places = [vocabulary.get_loc(text) for text in wanted if text in vocabulary]
    found = np.zeros(len(column), dtype=np.bool_)
    if places:
        codes = column.codes
        for place in places:
            found |= codes == place
    return found


def constant(text: str | None, rows: int, categories: Sequence[str] = ()) -> pd.Series[Any]:
    """A categorical column with one text (None: nothing), of a vocabulary shared with columns to be joined."""
    codes = np.full(rows, -1 if text is None else categories.index(text), dtype=np.int64)
    return column(codes, categories)


def joined(parts: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    """Categorical columns one below the other, each text with one code, whatever types their categories have."""
    codes, vocabulary = in_one_vocabulary(parts)
    return column(np.concatenate(codes), vocabulary)


def in_one_vocabulary(parts: Sequence[pd.Series[Any]]) -> tuple[list[npt.NDArray[np.int64]], list[str]]:
    """The codes of several categorical columns, -1 for NA, as places in one list of texts; and that list."""
    table: dict[str, int] = {}
    codes = []
    for part in parts:
        new = np.array([*(table.setdefault(text, len(table)) for text in distinct_texts(part)), -1], dtype=np.int64)
        codes.append(new.take(codes_of(part)))
    return codes, list(table)


def column(codes: npt.NDArray[np.int64], categories: Sequence[str]) -> pd.Series[Any]:
    """A categorical column from positions in a vocabulary; -1 is nothing. Shape of `codes`."""
    return pd.Series(from_codes(codes, categories))
