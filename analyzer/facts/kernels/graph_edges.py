"""Which nodes of replayed CUDA graphs wait for which: ends of dependencies, each put to the node that begins or ends there."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.spans.arrays import Int64Array
from analyzer.spans.open_spans import NONE

# The end of a node, and the sum of its start and its duration, may be rounded apart.
_ROUNDINGS_NS = (0, -1, 1)


class Edges(msgspec.Struct, frozen=True, eq=False):
    """Dependencies between nodes.

    Args:
        awaited: Places of the nodes that are waited for, shape (dependencies,).
        waiting: Places of those that wait, same shape.
        loose: Places of nodes of which a dependency is known to exist, but not with what, any number.
        nowhere_ns: When dependencies begin and end of which no node is known, sorted.
    """

    awaited: Int64Array
    waiting: Int64Array
    loose: Int64Array
    nowhere_ns: Int64Array


def edges(ends: pd.DataFrame, nodes: pd.DataFrame) -> Edges:
    """Puts ends to nodes.

    Args:
        ends: Of `trace.graph_edges`, those on the device of the nodes.
        nodes: Work of graphs: replay, stream, start_ns and end_ns.
    """
    nothing = np.empty(0, dtype=np.int64)
    if not len(ends) or not len(nodes):
        return Edges(nothing, nothing, nothing, nothing)
    arrives = ends["arrives"].to_numpy()
    place = np.full(len(ends), NONE)
    for mine, moment in ((arrives, "start_ns"), (~arrives, "end_ns")):
        place[mine] = _placed(ends[mine], nodes, moment)
    # Both ends of a dependency; a number that occurs otherwise is none.
    pairs = pd.DataFrame({"edge": ends["edge"], "at_ns": ends["start_ns"], "node": place})
    left, right = (pairs[mine].drop_duplicates("edge", keep=False) for mine in (~arrives, arrives))
    both = left.merge(right, on="edge", how="outer", suffixes=("_left", "_right"))
    first, second = (both[name].fillna(NONE).to_numpy(dtype=np.int64) for name in ("node_left", "node_right"))
    replay, start = (np.append(nodes[name].to_numpy(dtype=np.int64), NONE) for name in ("replay", "start_ns"))
    sound = (first != NONE) & (second != NONE) & (replay[first] == replay[second]) & (start[first] <= start[second])
    # Nodes are by start, and of equal ones a dependency may point back.
    sound &= first < second
    loose = np.concatenate([first[~sound], second[~sound]])
    nowhere = ~sound & (first == NONE) & (second == NONE)
    times = both.loc[nowhere, ["at_ns_left", "at_ns_right"]].to_numpy(dtype=np.float64).ravel()
    return Edges(
        awaited=first[sound],
        waiting=second[sound],
        loose=np.unique(loose[loose != NONE]),
        nowhere_ns=np.sort(times[~np.isnan(times)]).astype(np.int64),
    )


def _placed(ends: pd.DataFrame, nodes: pd.DataFrame, moment: str) -> Int64Array:
    """The node of each end, -1 where none or more than one begins (or ends) then on its stream; shape (ends,)."""
    place = np.full(len(ends), NONE)
    known = pd.DataFrame(
        {"stream": nodes["stream"].to_numpy(), "at": nodes[moment].to_numpy(), "node": np.arange(len(nodes))}
    ).drop_duplicates(["stream", "at"], keep=False)
    for rounding in _ROUNDINGS_NS:
        rows = np.flatnonzero(place == NONE)
        asked = pd.DataFrame(
            {
                "stream": ends["stream"].to_numpy()[rows],
                "at": ends["start_ns"].to_numpy()[rows] + rounding,
                "end": rows,
            }
        )
        found = asked.merge(known, on=["stream", "at"])
        place[found["end"].to_numpy()] = found["node"].to_numpy()
    return place
