"""Four ranks over gloo in a mesh of two by two, as FSDP2 with replicas leaves them: groups are stated, and no collective says its.

Each group has two threads of its own, which take its collectives in turn; those of a later group have higher numbers.
"""

from __future__ import annotations

from typing import Any

from building.builders import TraceBuilder

MS = 1_000
WORLD = 4
# Each group's threads are started after those of the group before; nothing else is in order.
_FIRST_THREAD = 5_000
GROUPS: tuple[dict[str, Any], ...] = tuple(
    {"pg_name": name, "pg_desc": what, "pg_size": len(ranks), "ranks": list(ranks)}
    for name, what, ranks in (
        ("0", "default_pg", (0, 1, 2, 3)),
        ("1", "mesh_dp_replicate", (0, 2)),
        ("2", "mesh_dp_replicate", (1, 3)),
        ("3", "mesh_dp_shard", (0, 1)),
        ("4", "mesh_dp_shard", (2, 3)),
    )
)


class _Mesh:
    def __init__(self, hosts: tuple[str, ...], *, even: bool, threads: int, descending: bool) -> None:
        self.at = [0.0] * WORLD
        self.even, self._met = even, 0
        self._threads, self._descending = threads, descending
        self._calls: dict[tuple[int, str], int] = {}
        self.ranks = []
        for rank in range(WORLD):
            groups = [dict(one) for one in GROUPS if rank in one["ranks"]]
            info = {"backend": "gloo", "rank": rank, "world_size": WORLD, "pg_count": len(GROUPS), "pg_config": groups}
            self.ranks.append(TraceBuilder(None, top={"distributedInfo": info, "host_name": hosts[rank]}))

    def compute(self, rank: int, dur: float) -> None:
        self.ranks[rank].op("aten::mm", self.at[rank], dur, **{"Input Dims": [[64, 64], [64, 64]]})
        self.at[rank] += dur

    def collective(self, what: str, kind: str, size: int, dur: float) -> None:
        """One in each of the groups that are called so; all members leave it together."""
        self._met += 1
        for group in GROUPS:
            if group["pg_desc"] != what:
                continue
            come = {rank: self.at[rank] + 20 for rank in group["ranks"]}
            # What else the machine does hits some groups more than others.
            over = (
                max(come.values()) + dur + (0 if self.even else (3 * int(group["pg_name"]) + self._met) % 7) * 0.2 * MS
            )
            for rank, began in come.items():
                call = self._calls.get((rank, what), 0)
                self._calls[rank, what] = call + 1
                self.ranks[rank].event(f"c10d::{kind}_", "cpu_op", self.at[rank], 15)
                args = {"Input Dims": [[size]], "Input type": ["float"]}
                thread = self._thread(int(group["pg_name"]), call)
                self.ranks[rank].event(f"gloo:{kind}", "user_annotation", began, over - began, tid=thread, args=args)
                self.at[rank] = over

    def _thread(self, group: int, call: int) -> int:
        place = -group if self._descending else group
        return _FIRST_THREAD + 10 * place + call % self._threads


def mesh(
    *,
    late: dict[int, float] | None = None,
    steps: int = 6,
    hosts: tuple[str, ...] = ("one",) * WORLD,
    even: bool = False,
    threads: int = 2,
    descending: bool = False,
    whole: bool = False,
) -> list[TraceBuilder]:
    """The traces of all ranks: three layers a step that are gathered, and whose gradients are scattered and summed.

    Args:
        late: What a rank spends in Python in front of each step, milliseconds.
        steps: How many there are.
        hosts: The machine of each rank.
        even: Whether all ranks take equally long for all that they do: then all come to each collective at the same time.
        threads: Threads of each group.
        descending: Whether numbers of threads began anew, so that later ones are lower.
        whole: Whether gradients are summed over all ranks at once, and not over replicas.
    """
    made = _Mesh(hosts, even=even, threads=threads, descending=descending)
    begun = [0.0] * WORLD
    for step in range(steps):
        for rank, ms in (late or {}).items():
            made.at[rank] += ms * MS
        for back in (False, True):
            for layer in range(3):
                made.collective("mesh_dp_shard", "all_gather", 4_096, 0.4 * MS)
                for rank in range(WORLD):
                    uneven = 0 if even else (7 * rank + 5 * layer + 3 * step + rank * layer) % 11
                    made.compute(rank, (3.0 + back + 0.2 * uneven) * MS)
                if back:
                    made.collective("mesh_dp_shard", "all_reduce", 8_192, 0.6 * MS)
                    made.collective("default_pg" if whole else "mesh_dp_replicate", "all_reduce", 4_096, 0.5 * MS)
        for rank, builder in enumerate(made.ranks):
            builder.optimizer(made.at[rank], 0.3 * MS)
            made.at[rank] += 0.4 * MS
            builder.step(step, begun[rank], made.at[rank] - begun[rank])
            begun[rank] = made.at[rank]
    return made.ranks
