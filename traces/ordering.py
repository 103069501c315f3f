"""The order of spans in every frame, by start and a parent before its child, what begins inside a span, and numbers in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
_SMALL = np.iinfo(np.int16)


def holds_start(
    thread: Int64Array, start: Int64Array, end: Int64Array, at_thread: Int64Array, at: Int64Array
) -> npt.NDArray[np.bool_]:
    """Whether anything begins inside each span, on its thread; shape (n,).

    Args:
        thread: Thread of each span, shape (n,).
        start: Starts, shape (n,).
        end: Ends, shape (n,).
        at_thread: Thread of each thing that may lie inside, shape (m,).
        at: When it begins, shape (m,).
    """
    held = np.zeros(len(start), dtype=bool)
    for one in np.unique(thread).tolist():
        mine = thread == one
        begins = np.sort(at[at_thread == one])
        held[mine] = np.searchsorted(begins, end[mine]) > np.searchsorted(begins, start[mine])
    return held


def outer_first(start: Int64Array, end: Int64Array) -> Int64Array:
    """Rows by start, and of those that start together the latest end first; equal ones keep their order.

    Spans are written nearly in order, and few start together: to merge what is sorted and to sort the few takes a fifth of the
    time that sorting by two keys takes.

    Args:
        start: Starts, shape (n,).
        end: Ends, shape (n,).
    """
    order = np.argsort(start, kind="stable")
    starts = start[order]
    with_next = starts[1:] == starts[:-1]
    tied = np.flatnonzero(np.append(with_next, False) | np.append(False, with_next)) if len(order) else order
    rows = order[tied]
    order[tied] = rows[np.lexsort((-end[rows], start[rows]))]
    return order


def in_order(*keys: npt.NDArray[np.int64]) -> Int64Array:
    """Rows by the last key, equal ones by the one before it, and so on: as `numpy.lexsort`, in half the time or less.

    Whole numbers that fit into 16 bits are sorted digit by digit, and what is nearly in order is merged.

    Args:
        keys: Whole numbers, each of shape (n,); at least one key.
    """
    order: Int64Array = np.argsort(keys[0], kind="stable")
    for key in keys[1:]:
        small = len(key) and _SMALL.min <= key.min() and key.max() <= _SMALL.max
        key = key.astype(_SMALL.dtype) if small else key
        order = order.take(np.argsort(key.take(order), kind="stable"))
    return order


def found_in(
    ordered: npt.NDArray[np.number[Any]], asked: npt.NDArray[np.number[Any]]
) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Where each number stands among sorted ones, of equal ones the first, and whether it is there at all; shape of `asked` both.

    Args:
        ordered: Sorted numbers.
        asked: Numbers; NaN is never there.
    """
    if not len(ordered):
        return np.zeros(len(asked), dtype=np.int64), np.zeros(len(asked), dtype=np.bool_)
    place = np.minimum(np.searchsorted(ordered, asked), len(ordered) - 1)
    return place, ordered[place] == asked
