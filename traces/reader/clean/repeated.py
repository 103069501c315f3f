"""Events that stand in the file twice, as an export that ran twice or files put together leave them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from traces.ordering import found_in

Table = dict[str, npt.NDArray[Any]]
Integers = npt.NDArray[np.int64]

_KEYS = ("start", "dur", "thread", "name")
# Left out of runs of events that state something better (`traces.reader.columns.arguments`).
_KEPT_AT_TIMES = ("grid", "block")
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
        _, again = found_in(doubled, mixed)
        rows = np.flatnonzero(again & (table["dur"] > 0))
        kept = [values[rows] for column, values in table.items() if column not in _KEPT_AT_TIMES]
        found[_again(list(map(_as_integers, kept)), rows)] = True
    return found


def _again(columns: list[Integers], rows: Integers) -> Integers:
    """Of some rows, those that equal an earlier one in all columns.

    Sorted, not hashed: the hash tables of pandas end the process where memory does.
    """
    mixed = np.zeros(len(rows), dtype=np.int64)
    for values in columns:
        mixed = mixed * _MULTIPLIER + values
    order = np.argsort(mixed, kind="stable")
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for values in columns:
        same &= values[order[1:]] == values[order[:-1]]
    return rows[order[1:][same]]


def _as_integers(values: npt.NDArray[Any]) -> Integers:
    """Numbers of which equal ones have equal integers, NaN among them."""
    return values.astype(np.float64).view(np.int64) if values.dtype.kind == "f" else values.astype(np.int64)
