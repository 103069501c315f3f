"""Replays of CUDA graphs with the dependencies of their nodes, as torch 2.15 draws them (`torch/profiler/_cuspy/trace.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from building.builders import TraceBuilder
from programs.hardware import MATRIX

FIRST_EDGE = 1 << 40
STEP_US = 2_000.0


class Node(msgspec.Struct, frozen=True):
    """A kernel of a graph.

    Args:
        start: From the start of its replay, us.
        dur: us.
        stream: Where it runs.
        awaits: Places of the nodes that it waits for.
        name: Of the kernel.
    """

    start: float
    dur: float
    stream: int
    awaits: tuple[int, ...] = ()
    name: str = MATRIX


# A fork: the first node, then a long and a short one side by side, then one that waits for both.
FORK = (Node(0, 100, 7), Node(105, 600, 7, (0,)), Node(105, 200, 13, (0,)), Node(710, 100, 7, (1, 2)))


def replays(
    nodes: Sequence[Node] = FORK, *, steps: int = 4, lost: Iterable[tuple[int, int]] = (), edges: bool = True
) -> TraceBuilder:
    """Steps of 2 ms, each with one replay.

    Args:
        nodes: Of the graph.
        steps: How many.
        lost: Dependencies that are not recorded, as pairs of the node awaited and the one that waits.
        edges: Whether any is.
    """
    builder = TraceBuilder()
    number = FIRST_EDGE
    lost = set(lost)
    for step in range(steps):
        at = step * STEP_US
        builder.step(step, at, STEP_US)
        correlation = builder.runtime("cudaGraphLaunch", at + 10, 20)
        begin = at + 40
        for place, node in enumerate(nodes):
            more = {"graph id": 3, "graph node id": place + 1}
            builder.kernel(node.name, begin + node.start, node.dur, stream=node.stream, correlation=correlation, **more)
        for place, node in enumerate(nodes):
            for awaited in node.awaits if edges else ():
                if (awaited, place) not in lost:
                    one = nodes[awaited]
                    flow(builder, "s", number, one.stream, begin + one.start + one.dur)
                    flow(builder, "f", number, node.stream, begin + node.start)
                    number += 1
        builder.runtime("cudaDeviceSynchronize", at + 100, 1_500)
    return builder


def flow(builder: TraceBuilder, phase: str, number: int, stream: int, at: float, device: int = 0) -> None:
    """One end of a dependency."""
    event = {"ph": phase, "id": number, "pid": device, "tid": stream, "ts": at, "cat": "ac2g", "name": "ac2g"}
    builder.events.append(event | ({"bp": "e"} if phase == "f" else {}))
