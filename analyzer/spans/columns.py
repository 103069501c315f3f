"""What can be asked of a column of any type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray


def present(values: pd.Series[Any]) -> BoolArray:
    """Rows of a column that are not NA; as `notna`, without a Series for it. Shape (rows,)."""
    return ~np.asarray(values.array.isna(), dtype=np.bool_)
