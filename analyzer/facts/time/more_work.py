"""How much more work a step has than others, as most of its ops tell: what grows by that in one op is no delay of it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.arrays import FloatArray, Int64Array

# Shorter ops tell nothing of how long a step's work is.
_TELLS_NS = 20_000


def more_work(step: Int64Array, took_ns: Int64Array, usual_ns: Int64Array | FloatArray, count: int) -> FloatArray:
    """How many times as long as usual most ops of each op's step take, 1 at least, shape (ops,).

    Args:
        step: The step of each op, shape (ops,).
        took_ns: What each takes, shape (ops,).
        usual_ns: What its like take in most steps, shape (ops,); 0 where that is not known.
        count: How many steps there are.
    """
    tells = usual_ns >= _TELLS_NS
    times = pd.Series(took_ns[tells] / usual_ns[tells]).groupby(step[tells]).median()
    by_step = np.ones(count)
    by_step[times.index.to_numpy()] = np.maximum(times.to_numpy(), 1.0)
    return by_step[step]
