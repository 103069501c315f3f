"""Ranks of a server that run at the same time: collectives end on all of them together, and begin where each has come to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from building.clocked import Clocked

LAUNCH_US = 8


@dataclass(frozen=True)
class Meet:
    """A node of a graph at which all ranks meet: its kernel, and what the transfer takes, in microseconds."""

    name: str
    dur: float


Node = tuple[str, float] | Meet


class Together:
    """Worlds of several ranks.

    Args:
        size: How many.
        device: As of the builder.
        host: The machine they run on.
    """

    def __init__(self, size: int, *, device: str = "cuda", host: str = "node0") -> None:
        info: dict[str, Any] = {"backend": "nccl", "world_size": size, "pg_count": 2, "nccl_version": "2.21.5"}
        groups = [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": size, "ranks": list(range(size))}]
        self.ranks = tuple(
            Clocked(device, marks=False, top={"distributedInfo": {**info, "rank": rank, "pg_config": groups}, "host_name": host})
            for rank in range(size)
        )  # fmt: skip
        self._number = 0

    def each(self, do: Callable[[int, Clocked], object]) -> None:
        """Every rank does something by itself."""
        for rank, world in enumerate(self.ranks):
            do(rank, world)

    def replayed(self, nodes: Callable[[int], Sequence[Node]], *, host: float = 150, gap: float = 1) -> None:
        """Every rank launches its graph; nodes at which they meet end together."""
        own = [nodes(rank) for rank in range(len(self.ranks))]
        calls, at = [], []
        for world in self.ranks:
            calls.append(world.runtime(world._call("cudaGraphLaunch"), world.now, host, world.thread))
            at.append(max(world.now + 60, world.busy_until.get(7, 0) + 1))
            world.now += host + 5
        for index, column in enumerate(zip(*own, strict=True)):
            if isinstance(column[0], Meet):
                end = max(at) + column[0].dur
                lengths = [end - begin for begin in at]
            else:
                lengths = [world._device(node[1]) for world, node in zip(self.ranks, column, strict=True)]
            for rank, world in enumerate(self.ranks):
                node = column[rank]
                name = node.name if isinstance(node, Meet) else node[0]
                args = {"graph node id": index, "graph id": 3}
                world.kernel(name, at[rank], lengths[rank], correlation=calls[rank], **args)
                at[rank] += lengths[rank] + gap
        for world, end in zip(self.ranks, at, strict=True):
            world.busy_until[7] = end

    def met(
        self, kind: str, name: str, dur: float, *, elements: int = 1 << 16, host: float = 26, stated: bool = True
    ) -> None:
        """A collective that each rank launches by itself, on the stream of its kernels; stated as torch does, or not."""
        self._number += 1
        size = len(self.ranks)
        facts: dict[str, Any] = {
            "Collective name": kind, "In msg nelems": elements, "Out msg nelems": elements, "Group size": size, "dtype": "Half",
            "Process Group Name": "0", "Process Group Description": "default_pg",
            "Process Group Ranks": json.dumps(list(range(size))),
            "Seq": self._number,
        } if stated else {}  # fmt: skip
        begun, calls = [], []
        for world in self.ranks:
            begin = world.now
            if stated:
                world.op(f"c10d::{kind}_", begin, host - 1)
                world.op("record_param_comms", begin + 2, host - 5, **facts)
                world.annotation(f"nccl:{kind}", begin + 3, host - 7)
            calls.append(world.runtime("cudaLaunchKernelExC", begin + 6, 5))
            begun.append(max(begin + 6 + LAUNCH_US, world.busy_until.get(7, 0) + 1))
            world.now = begin + host
        end = max(begun) + dur
        for world, begin, correlation in zip(self.ranks, begun, calls, strict=True):
            world.kernel(name, begin, end - begin, correlation=correlation, **facts)
            world.busy_until[7] = end
