"""What gloo sends right behind some of the host's calls: what they copied, as a rule."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.spans.arrays import FloatArray, Int64Array


def sent_behind_ns(calls: pd.DataFrame, sends_ns: Int64Array, launches_ns: FloatArray) -> int:
    """How long the host is in those calls behind which something is sent before a kernel is launched or the next one begins.

    Args:
        calls: Columns unit, start_ns, end_ns and dur_ns; calls of one unit are one.
        sends_ns: When sending begins, sorted, shape (sends,).
        launches_ns: When each kernel is launched; NaN where that is unknown.
    """
    if not len(sends_ns):
        return 0
    launches = np.sort(launches_ns[~np.isnan(launches_ns)])
    units = calls.groupby("unit").agg({"start_ns": "min", "end_ns": "max", "dur_ns": "sum"})
    units = units.sort_values("start_ns", kind="stable")
    until, never = units["end_ns"].to_numpy(), np.iinfo(np.int64).max
    sent = np.append(sends_ns, never)[np.searchsorted(sends_ns, until)]
    launched = np.append(launches, never)[np.searchsorted(launches, until)]
    following = np.append(units["start_ns"].to_numpy()[1:], never)
    return int(units["dur_ns"].to_numpy()[(sent < launched) & (sent <= following)].sum())
