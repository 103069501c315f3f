"""The critical path through replayed CUDA graphs, by the dependencies between their nodes, which torch 2.15 records if asked to.

A graph runs independent nodes side by side. A kernel that no later node waits for may get shorter, and the replay ends no earlier.
So the replay is worked out again: each node begins as long after the last one it waits for as it did when recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import from_source
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.graph_edges import Edges, edges
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array, RowArray, narrow
from analyzer.spans.grouping import chosen, rows_by
from analyzer.spans.labels import is_any
from analyzer.spans.open_spans import NONE
from traces.reader.columns.growing import thrifty
from traces.trace import Trace

# What begins this long after all that it is known to wait for waits for something else: a node that is missing, or the units of the
# device. Nodes of graphs begin within a few microseconds.
_LATE_NS = 10_000


class GraphPaths(msgspec.Struct, frozen=True, eq=False):
    """Nodes of the replays whose dependencies are all known, by replay and start.

    Args:
        replays: How many replays have recorded dependencies.
        known: How many of them have all of theirs.
        node: Of each kernel of `facts.kernels.named` its place among the nodes, -1 where it is none; shape (kernels,).
        dur_ns: Of each kernel, likewise.
        critical: Which kernels lie on the longest way through their replay, likewise.
        replay: Number of each node's replay, shape (nodes,).
        end_ns: Of each node, likewise.
        awaited: Of each node the places of those it waits for, all of them before its own.
    """

    replays: int
    known: int
    node: RowArray
    dur_ns: Int64Array
    critical: BoolArray
    replay: Int64Array
    end_ns: Int64Array
    awaited: tuple[tuple[int, ...], ...]

    def beside_ratio(self, shorter: Sequence[tuple[BoolArray, float]]) -> float:
        """Share of the time by which kernels get shorter that no replay ends earlier for; 0 where no dependency is known.

        Args:
            shorter: Which kernels of `facts.kernels.named`, each time with the share of their time that goes.
        """
        ratio = np.zeros(len(self.node))
        for rows, part in shorter:
            ratio[rows] += part
        gone = np.minimum(ratio, 1.0) * self.dur_ns
        mine = (self.node != NONE) & (gone > 0)
        if not mine.any():
            return 0.0
        of_node = np.zeros(len(self.end_ns))
        of_node[self.node[mine]] = gone[mine]
        return float(max(0.0, gone[mine].sum() - self._earlier_ns(of_node)) / gone.sum())

    def _earlier_ns(self, gone: FloatArray) -> float:
        """By how much all replays together end earlier where nodes last that much less."""
        end: list[float] = self.end_ns.tolist()
        new = list(end)
        # One node after the other: when one begins follows from those before it. Half a microsecond each.
        for node, (before, less) in enumerate(zip(self.awaited, gone.tolist(), strict=True)):
            new[node] -= less
            if before:
                new[node] += max(new[one] for one in before) - max(end[one] for one in before)
        first = np.flatnonzero(np.diff(self.replay, prepend=NONE))
        return float((np.maximum.reduceat(self.end_ns, first) - np.maximum.reduceat(np.array(new), first)).sum())


def graph_paths(trace: Trace, device: DeviceFacts, named: Kernels) -> GraphPaths:
    """Replays of the device that stands for the trace; none without recorded dependencies."""
    ends = trace.graph_edges
    main = device.main.device if device.main else NONE
    ends = chosen(ends, ends["device"].to_numpy() == main)
    if not len(ends):
        # Each node would be looked at for nothing.
        none, times = np.full(len(named.frame), NONE), np.empty(0, dtype=np.int64)
        return GraphPaths(
            replays=0, known=0, node=thrifty(narrow(none)), dur_ns=named.frame["dur_ns"].to_numpy(), critical=named.none,
            replay=times, end_ns=times, awaited=(),
        )  # fmt: skip
    nodes = _nodes(device)
    found = edges(ends, nodes)
    replay = nodes["replay"].to_numpy(dtype=np.int64)
    awaited = _awaited(nodes, found)
    sound = _sound(nodes, found, awaited)
    seen = np.unique(replay[np.concatenate([found.awaited, found.waiting])]) if len(found.awaited) else replay[:0]
    kept = np.flatnonzero(np.isin(replay, seen[sound[seen]] if len(seen) else seen))
    place = np.full(len(nodes), NONE)
    place[kept] = np.arange(len(kept))
    nodes = nodes.iloc[kept]
    renumbered = place.tolist()
    awaited = tuple(tuple(renumbered[one] for one in awaited[node]) for node in kept.tolist())
    end = nodes["end_ns"].to_numpy(dtype=np.int64)
    of_kernel = np.full(len(trace.kernels), NONE)
    from_kernels = from_source(nodes, "kernels")
    of_kernel[nodes["row"].to_numpy()[from_kernels]] = np.flatnonzero(from_kernels)
    node = thrifty(narrow(of_kernel[named.frame["row"].to_numpy()]))
    critical = np.append(_critical(replay[kept], end, awaited), False)[node]
    return GraphPaths(
        replays=len(seen), known=int(sound[seen].sum()) if len(seen) else 0, node=node,
        dur_ns=named.frame["dur_ns"].to_numpy(), critical=critical, replay=replay[kept], end_ns=end, awaited=awaited,
    )  # fmt: skip


def _nodes(device: DeviceFacts) -> pd.DataFrame:
    """Work of launched graphs, by replay and start."""
    launched = device.launched
    mine = is_any(launched["launch_kind"], "graph_launch")
    mine &= launched["device"].to_numpy() == (device.main.device if device.main else NONE)
    nodes = launched[mine]
    replay = np.unique(nodes["launch_row"].to_numpy(), return_inverse=True)[1].reshape(-1)
    nodes = nodes.assign(replay=replay)
    return nodes.iloc[np.lexsort((nodes["start_ns"].to_numpy(), replay))]


def _sound(nodes: pd.DataFrame, found: Edges, awaited: tuple[tuple[int, ...], ...]) -> BoolArray:
    """Of which replays every dependency is known, shape (replays,)."""
    replay = nodes["replay"].to_numpy(dtype=np.int64)
    sound = np.ones(int(replay.max()) + 1 if len(replay) else 0, dtype=bool)
    sound[replay[found.loose]] = False
    # What waits for nothing begins at once: one that begins only after another has ended waits for something unrecorded.
    waits = np.zeros(len(nodes), dtype=bool)
    waits[found.waiting] = True
    start, end = nodes["start_ns"].to_numpy(), nodes["end_ns"].to_numpy()
    ready = np.array([max((end[one] for one in before), default=np.iinfo(np.int64).max) for before in awaited])
    # Compared this way round: nothing is later than the largest number.
    sound[replay[start - _LATE_NS > ready]] = False
    for number, rows in rows_by(replay).items():
        sound[number] &= not (~waits[rows] & (start[rows] >= end[rows].min())).any()
        # An end that fits no node at all may be one of any replay that runs at the time.
        low, high = np.searchsorted(found.nowhere_ns, (start[rows].min(), end[rows].max() + 1))
        sound[number] &= low == high
    return sound


def _awaited(nodes: pd.DataFrame, found: Edges) -> tuple[tuple[int, ...], ...]:
    """Of each node those that it waits for: by a dependency, and on its own stream, which does one thing after the other."""
    before: list[list[int]] = [[] for _ in range(len(nodes))]
    for one, other in zip(found.awaited.tolist(), found.waiting.tolist(), strict=True):
        before[other].append(one)
    replay, stream, start, end = (nodes[name].tolist() for name in ("replay", "stream", "start_ns", "end_ns"))
    last: dict[tuple[int, int], int] = {}
    for node, lane in enumerate(zip(replay, stream, strict=True)):
        previous = last.get(lane)
        if previous is not None and end[previous] <= start[node] and previous not in before[node]:
            before[node].append(previous)
        last[lane] = node
    return tuple(map(tuple, before))


def _critical(replay: Int64Array, end_ns: Int64Array, awaited: tuple[tuple[int, ...], ...]) -> BoolArray:
    """Nodes on the way back from the last one, always to the one that was waited for longest; shape (nodes,)."""
    found = np.zeros(len(replay), dtype=bool)
    end = end_ns.tolist()
    for rows in rows_by(replay).values():
        node: int | None = int(rows[np.argmax(end_ns[rows])])
        while node is not None:
            found[node] = True
            node = max(awaited[node], key=end.__getitem__, default=None)
    return found
