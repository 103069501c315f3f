"""Events that stand in the file twice, as an export that ran twice or files put together leave them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Table = dict[str, npt.NDArray[Any]]

_KEYS = ("start", "dur", "thread", "name")
# Odd and large, so that different events hardly ever mix to one number; where they do, all columns decide.
_MULTIPLIER = np.int64(0x9E3779B97F4A7C1)


def repeated(table: Table) -> npt.NDArray[np.bool_]:
    """Events that equal an earlier one in everything that is kept of them, ids among it. Shape (rows,).

    Nothing takes time twice at once on one thread or stream. What takes none may be there twice for good reason.

    Args:
        table: Columns of one kind of event.
    """
    mixed = np.zeros(len(table["start"]), dtype=np.int64)
    for key in _KEYS:
        mixed = mixed * _MULTIPLIER + table[key]
    ordered = np.sort(mixed)
    found = np.zeros(len(mixed), dtype=np.bool_)
    doubled = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(doubled):
        rows = np.flatnonzero(np.isin(mixed, doubled) & (table["dur"] > 0))
        found[rows] = pd.DataFrame({column: values[rows] for column, values in table.items()}).duplicated().to_numpy()
    return found
