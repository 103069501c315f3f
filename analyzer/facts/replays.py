"""Graph launches against their kernels: replays of which only a part was recorded.

A replay is held against others of the same graph, told by the first or the last kernel. Loss is random, so a number of
kernels that occurs again and again is a graph of its own, not a loss.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.labels import is_any, texts
from traces.trace import Trace

# Fewer replays say nothing about how many kernels a graph has.
MIN_REPLAYS = 3
# A replay with fewer kernels than this share of the others' was recorded in part.
PARTIAL_RATIO = 0.5
_COLUMNS = {"start_ns": np.int64, "kernels": np.int64, "expected": np.float64, "partial": np.bool_}


def graph_replays(trace: Trace, launched: pd.DataFrame) -> pd.DataFrame:
    """Every graph launch with an id.

    Args:
        trace: The trace.
        launched: From `launches.launches`.

    Returns:
        Columns start_ns, kernels (how much work was recorded), expected (the median of the graph's replays; 0 where unknown) and
        partial (whether most of it is missing).
    """
    launching = is_any(trace.runtime["kind"], "graph_launch")
    if not launching.any():
        return pd.DataFrame({name: np.empty(0, kind) for name, kind in _COLUMNS.items()})
    calls = trace.runtime[launching & trace.runtime["correlation"].notna().to_numpy()]
    work = launched[launched["launch_row"].isin(calls.index)]
    names = np.full(len(work), "", dtype=object)
    from_kernels = (work["source"] == "kernels").to_numpy()
    names[from_kernels] = texts(trace.kernels["name"].iloc[work["row"].to_numpy()[from_kernels]])
    replays = pd.Series(names, index=work.index).groupby(work["launch_row"].to_numpy())
    found = pd.DataFrame({"kernels": replays.size(), "first": replays.first(), "last": replays.last()})
    found = found.reindex(calls.index).assign(start_ns=calls["start_ns"])
    found["kernels"] = found["kernels"].fillna(0).astype(np.int64)
    found["expected"] = _expected(found)
    usual = found["kernels"].map(found["kernels"].value_counts()) >= MIN_REPLAYS
    found["partial"] = (found["kernels"] < PARTIAL_RATIO * found["expected"]) & (~usual | (found["kernels"] == 0))
    return found[list(_COLUMNS)].reset_index(drop=True)


def _expected(found: pd.DataFrame) -> pd.Series[float]:
    """How many kernels each replay should have: as many as most of those that begin or end alike."""
    recorded = found[found["kernels"] > 0]
    expected = pd.Series(0.0, index=found.index)
    for end in ("first", "last"):
        groups = recorded.groupby(end)["kernels"].agg(["median", "size"])
        medians = groups.loc[groups["size"] >= MIN_REPLAYS, "median"]
        alike = found[end].map(medians).fillna(0.0)
        expected = expected.where(expected > alike, alike)
    # A replay without any kernel may be of any graph: it lacks at least those of the smallest.
    expected[found["kernels"] == 0] = float(recorded["kernels"].min()) if len(recorded) else 1.0
    return expected
