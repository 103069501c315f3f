"""What each op has to do, by its name and the shapes of its inputs: told once for a whole trace."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from analyzer.hardware.call import Work
from analyzer.hardware.work import FORMULAS, work_of
from analyzer.spans.arrays import FloatArray
from analyzer.spans.grouping import distinct_columns
from analyzer.spans.labels import codes_of, distinct_texts


def work_of_ops(ops: pd.DataFrame) -> FloatArray:
    """What each op has to do, told once for each distinct op and inputs; NaN where that is unknown. Shape (ops,)."""
    keys = [ops[name] for name in ("name", "input_dims", "input_types")]
    codes = np.stack([codes_of(one).astype(np.int64) for one in keys])
    # Neither an op without a formula nor one without shapes can be told.
    known = np.array([name in FORMULAS for name in (*distinct_texts(keys[0]), "")], dtype=bool)
    told = known[codes[0]] & (codes[1] >= 0)
    found = np.full(len(ops), np.nan)
    if not told.any():
        return found
    distinct, place = distinct_columns(codes[:, told])
    words = [[*distinct_texts(one), ""] for one in keys]
    each = [
        _size(work_of(*(texts[code] for texts, code in zip(words, one, strict=True)))) for one in distinct.T.tolist()
    ]
    found[told] = np.array(each)[place]
    return found


def _size(work: Work | str) -> float:
    if isinstance(work, str):
        return math.nan
    return float(work.flops) or (math.nan if work.bytes is None else float(work.bytes))
