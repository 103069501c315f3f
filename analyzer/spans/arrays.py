"""The kinds of arrays that measurements pass around."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
ObjectArray = npt.NDArray[np.object_]
# Positions, of a type that is no larger than they need.
RowArray = npt.NDArray[np.signedinteger[Any]]


def narrow(values: Int64Array) -> RowArray:
    """The same positions in four bytes each, where all of them fit; for what is kept for each of millions of spans.

    They are looked up and compared, not reckoned with: a product of two may lie beyond the type.

    Args:
        values: Positions, shape (n,).
    """
    return values.astype(np.int32, copy=False) if _fit(values, np.int32) else values


# Rows that are worked on together: of millions at once what is worked out for each would be several times the arrays.
_AT_ONCE = 1 << 16


def pieces(count: int) -> Iterator[slice]:
    """All rows, a few ten thousand at a time."""
    return (slice(first, first + _AT_ONCE) for first in range(0, count, _AT_ONCE))


def cuts(values: Int64Array) -> Int64Array:
    """Where sorted values, in order, are parted into as many as `pieces` has at a time: the first of each but the first."""
    return values[_AT_ONCE::_AT_ONCE]


def narrow_depths(values: Int64Array) -> RowArray:
    """Numbers that are small but for odd traces, such as depths, in two bytes each where all of them fit, else as positions.

    Args:
        values: Shape (n,).
    """
    return values.astype(np.int16) if _fit(values, np.int16) else narrow(values)


def _fit(values: Int64Array, kind: type[np.signedinteger[Any]]) -> bool:
    most = np.iinfo(kind).max
    return not len(values) or bool(values.max() <= most and values.min() >= -most)
