"""Columns that are needed together later, laid beside one another: then nobody has to copy them into one.

What runs on the host is nested as one tree, ranges, ops and calls. Of a million of them starts, ends and threads are 20 MB.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from traces.reader.names.vocabulary import Kind

# In the order in which they stand in the tree.
BESIDE = (Kind.ANNOTATION, Kind.OP, Kind.RUNTIME)


class Beside:
    """Room for columns of some kinds of events.

    Args:
        rows: How many events of each of these kinds there are, at most.
    """

    def __init__(self, rows: Mapping[Kind, int]) -> None:
        self._rows = rows
        self._room: dict[str, npt.NDArray[Any]] = {}

    def of(self, column: str, kind: Kind, rows: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        """An array for a column of one kind, to be filled: behind that of the kind before it, or one of its own.

        Args:
            column: The column.
            kind: The kind.
            rows: How many values it has.
            dtype: Of all its values.
        """
        if kind not in self._rows:
            return np.empty(rows, dtype=dtype)
        if column not in self._room:
            self._room[column] = np.empty(sum(self._rows.values()), dtype=dtype)
        first = sum(self._rows[one] for one in BESIDE[: BESIDE.index(kind)])
        return self._room[column][first : first + rows]


def together(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Arrays as one: as they lie, where each lies behind the one before it; else copied.

    Args:
        parts: At least one, of one dimension each.
    """
    some = [part for part in parts if len(part)] or parts[:1]
    whole = some[0].base
    if isinstance(whole, np.ndarray) and whole.ndim == 1 and whole.dtype == some[0].dtype and whole.flags.c_contiguous:
        first = (_address(some[0]) - _address(whole)) // whole.itemsize
        at = _address(some[0])
        for part in some:
            if part.base is not whole or _address(part) != at or not part.flags.c_contiguous:
                break
            at += part.nbytes
        else:
            found = whole[first : first + sum(map(len, some))]
            found.setflags(write=False)
            return found
    return np.concatenate(some)


def _address(values: npt.NDArray[Any]) -> int:
    return int(values.__array_interface__["data"][0])
