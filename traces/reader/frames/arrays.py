"""Arrays of codes and of numbers to the extension arrays of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from traces.categories import from_codes
from traces.patterns import Pattern
from traces.reader.columns.growing import thrifty
from traces.reader.columns.numbers import floats

Table = dict[str, npt.NDArray[Any]]

# Names of nested templates reach some thousand characters; a finding that quotes a million is refused as one that nobody reads.
_LONGEST = 8_000
# A word is not cut in two: half a secret is not recognised as one.
_CUT_AT_END, _CUT_AT_BEGINNING = Pattern(r"\S{1,200}\Z"), Pattern(r"\A\S{1,200}")


def nullable(table: Table, column: str) -> pd.api.extensions.ExtensionArray:
    """A column of whole numbers, NA where `<column>_known` is false or the column is absent."""
    rows = len(table["start"])
    if column not in table:
        return pd.arrays.IntegerArray(thrifty(np.zeros(rows, dtype=np.int64)), thrifty(np.ones(rows, dtype=bool)))
    unknown = thrifty(~table[column + "_known"].astype(bool))
    return pd.arrays.IntegerArray(table[column].astype(np.int64, copy=False), unknown)


def categorical(codes: npt.NDArray[np.int64], categories: list[str]) -> pd.Categorical:
    """A categorical; names that differ as written but read the same (1 and "1") are merged."""
    if len(set(categories)) == len(categories):
        return from_codes(codes, categories)
    order: dict[str, int] = {}
    merged = np.array([order.setdefault(label, len(order)) for label in categories], dtype=np.int64)
    return from_codes(np.where(codes >= 0, merged[codes], -1), list(order))


def distinct(codes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The distinct codes in order and the place of each code among them, as `np.unique` finds them, without sorting."""
    seen = np.bincount(codes) > 0 if len(codes) else np.empty(0, dtype=bool)
    places = np.cumsum(seen) - 1
    return np.flatnonzero(seen), places[codes] if len(codes) else places


def figures(codes: npt.NDArray[Any], texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """Texts as numbers, by their codes; NaN where there is none, or none that a count or a size can be."""
    # One further, so that -1 (there is none) is a code like any other.
    used, local = distinct(codes + 1)
    found = floats([texts[code - 1] if code else None for code in used.tolist()])
    made: npt.NDArray[np.float64] = (
        np.where((found >= 0) & (found < 2.0**63), found, np.nan)[local] if len(used) else found
    )
    return thrifty(made)


def texts(values: Sequence[str | None]) -> pd.api.extensions.ExtensionArray | npt.NDArray[np.object_]:
    """A column of texts, NA where there is none."""
    made = pd.array(values, dtype="str")
    # pandas 2 has no such type: it makes the text "None" of nothing.
    return made if isinstance(made.dtype, pd.StringDtype) else np.array(values, dtype=object)


def text(value: Any) -> str:
    """A value as text, of one longer than any name its ends; nothing is an empty one."""
    whole = "" if value is None else str(value)
    if len(whole) <= _LONGEST:
        return whole
    return f"{_CUT_AT_END.sub('', whole[: _LONGEST // 2])}…{_CUT_AT_BEGINNING.sub('', whole[-_LONGEST // 2 :])}"


def trailing_number(value: Any) -> int:
    """The number at the end (`stream 7` -> 7), or 0."""
    digits = ""
    for character in reversed(text(value).strip()):
        if not character.isdecimal():
            break
        digits = character + digits
    # Twenty digits or more are no stream number.
    return int(digits) if digits and len(digits) < 19 else 0
