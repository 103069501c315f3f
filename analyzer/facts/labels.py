"""Texts of categorical columns, asked once per distinct text: a trace has millions of names and hundreds of distinct ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd


def texts(values: pd.Series[Any]) -> npt.NDArray[np.object_]:
    """The texts of a categorical column; an empty one where there is none. Shape (rows,)."""
    distinct = np.array([*map(str, values.cat.categories), ""], dtype=object)
    return distinct[values.cat.codes.to_numpy()]


def matching(values: pd.Series[Any], matches: Callable[[str], object]) -> npt.NDArray[np.bool_]:
    """Rows of a categorical column whose text matches; NA never does. Shape (rows,)."""
    distinct = np.array([*(bool(matches(str(text))) for text in values.cat.categories), False], dtype=np.bool_)
    return distinct[values.cat.codes.to_numpy()]


def constant(text: str | None, rows: int, categories: Sequence[str] = ()) -> pd.Series[Any]:
    """A categorical column with one text (None: nothing), of a vocabulary shared with columns to be joined."""
    codes = np.full(rows, -1 if text is None else categories.index(text), dtype=np.int64)
    return column(codes, categories)


def joined(parts: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    """Categorical columns one below the other, each text with one code, whatever types their categories have."""
    table: dict[str, int] = {}
    codes = []
    for part in parts:
        new = np.array([*(table.setdefault(str(text), len(table)) for text in part.cat.categories), -1], dtype=np.int64)
        codes.append(new[part.cat.codes.to_numpy()])
    return column(np.concatenate(codes), list(table))


def column(codes: npt.NDArray[np.int64], categories: Sequence[str]) -> pd.Series[Any]:
    """A categorical column from positions in a vocabulary; -1 is nothing. Shape of `codes`."""
    # pandas' stubs do not know text categories here.
    return pd.Series(pd.Categorical.from_codes(codes, categories=list(categories)))  # type: ignore[call-overload]
