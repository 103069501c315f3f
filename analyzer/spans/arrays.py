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
    most = np.iinfo(np.int32).max
    fits = not len(values) or (values.max() <= most and values.min() >= -most)
    return values.astype(np.int32) if fits else values
