"""What is launched beside the ops of a stretch of host work: by an extension, or by a compiler's own launcher."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.moments import moments_in


def launches_beside(launched: pd.DataFrame, ops: pd.DataFrame, first: Int64Array, length: Int64Array) -> BoolArray:
    """In which stretches something is launched behind most of the ops, by none of them, shape (stretches,).

    Args:
        launched: Work with its launches, with columns launch_start_ns and launch_thread.
        ops: Ops that do not overlap on their thread, sorted by thread and start, with columns thread, start_ns and end_ns.
        first: Where each stretch begins in `ops`, shape (stretches,); all of a stretch is on one thread.
        length: How many ops each has, shape (stretches,).
    """
    found = np.zeros(len(first), dtype=bool)
    thread, start, end = (ops[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    at, of = launched["launch_start_ns"].to_numpy().astype(np.int64), launched["launch_thread"].to_numpy()
    for one in np.unique(thread[first]).tolist():
        mine = thread[first] == one
        calls = np.sort(at[of == one])
        begins, ends = start[thread == one], end[thread == one]
        if not len(calls):
            continue
        last = np.searchsorted(begins, calls, side="right") - 1
        beside = calls[(last < 0) | (calls >= ends[np.maximum(last, 0)])]
        begin, stop = start[first[mine]], end[first[mine] + length[mine] - 1]
        between = moments_in(beside, begin, stop)
        # One stands behind the last op, where that ends the stretch.
        found[mine] = 2 * between >= length[mine] - 1
    return found
