"""Numbers that link launch calls with device work, and where others only repeat them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.columns import present


def ids_of(frame: pd.DataFrame) -> tuple[Int64Array, BoolArray]:
    """Correlation of each row, 0 where there is none, and where there is one; shape (rows,) both."""
    ids = frame["correlation"]
    return ids.to_numpy(dtype=np.int64, na_value=0), present(ids)


def repeats_correlation(work: pd.DataFrame) -> BoolArray:
    """Whose External id is the correlation once more, as torch 1.13 to 2.2 wrote it, and says nothing; shape (rows,)."""
    ids, known = ids_of(work)
    external = work["external_id"]
    found: BoolArray = known & present(external) & (external.to_numpy(dtype=np.int64, na_value=0) == ids)
    return found
