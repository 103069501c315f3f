"""The kinds of arrays that measurements pass around."""

from __future__ import annotations

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
    return values.astype(np.int32) if _fit(values, np.int32) else values


def narrow_depths(values: Int64Array) -> RowArray:
    """Numbers that are small but for odd traces, such as depths, in two bytes each where all of them fit, else as positions.

    Args:
        values: Shape (n,).
    """
    return values.astype(np.int16) if _fit(values, np.int16) else narrow(values)


def _fit(values: Int64Array, kind: type[np.signedinteger[Any]]) -> bool:
    most = np.iinfo(kind).max
    return not len(values) or bool(values.max() <= most and values.min() >= -most)
