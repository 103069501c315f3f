"""Jobs of many ranks, simulated: data, tensor, pipeline and expert parallelism, one fault planted, clocks that differ.

`Job(dp=2, tp=2).run()` plays every rank's program in true time: a collective begins for a rank when it arrives and ends for all
when the last has arrived and the data is moved. `Run.summary(rank)` and `Run.trace(rank)` tell it on the rank's own clock, as the
summary of its trace, or as the trace itself. All times are nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary import CollectiveColumns, KernelRow, RankSummary, StepPart
from building.builders import TraceBuilder
from jobs.layout import Layout, Noise

MS = 1_000_000
KERNELS = {
    "all_reduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "all_to_all": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "send": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "recv": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
}
TORCH_NAMES = {"all_reduce": "allreduce", "all_to_all": "all_to_allv", "send": "send", "recv": "recv"}
# The transfer of one, without waiting, and its bytes.
TRANSFER = {"tp": 300_000, "ep": 400_000, "dp": 1_000_000, "pp": 200_000}
BYTES = {"tp": 8_000_000, "ep": 4_000_000, "dp": 100_000_000, "pp": 2_000_000}


@dataclass(frozen=True)
class Group:
    """A process group."""

    name: str
    kind: str
    ranks: tuple[int, ...]


@dataclass
class Did:
    """What a rank did: a cause of the waterfall, or a collective in a group."""

    what: str
    start: int
    end: int
    step: int
    shape: str = "a"
    group: Group | None = None
    sequence: int | None = None
    peer: int | None = None


@dataclass(frozen=True)
class Job(Layout):
    """A job and what is wrong with it.

    Args:
        slow_device: Factor on the time of a rank's kernels.
        slow_link: Factor on transfers in a group, by its name.
        late_host: Python time a step that a rank spends before it launches, in nanoseconds.
        slow_input: The same in its data loader.
        imbalance: Factor on the work of a rank: larger shapes, longer.
        slow_stage: Factor on the work of one pipeline stage, by its number.
        from_step: The fault is there from this step on.
        offset: Clock of each host ahead of true time.
        drift: Parts per million by which each host's clock runs fast.
        hosts: Ranks on one host.
        sequences: Whether traces number their collectives (torch 2.2 to 2.6 do not).
        jitter: Random part of every compute segment, 0..1, from a fixed seed.
    """

    steps: int = 4
    layers: int = 2
    microbatches: int = 2
    slow_device: dict[int, float] = field(default_factory=dict)
    slow_link: dict[str, float] = field(default_factory=dict)
    late_host: dict[int, int] = field(default_factory=dict)
    slow_input: dict[int, int] = field(default_factory=dict)
    imbalance: dict[int, float] = field(default_factory=dict)
    slow_stage: dict[int, float] = field(default_factory=dict)
    from_step: int = 0
    offset: dict[int, int] = field(default_factory=dict)
    drift: dict[int, float] = field(default_factory=dict)
    hosts: int = 8
    sequences: bool = True
    jitter: float = 0.01
    seed: int = 1

    def work(self, rank: int, stage: int) -> tuple[float, str]:
        """Factor on a rank's compute, and the shapes of it."""
        slow = self.slow_device.get(rank, 1.0) * self.slow_stage.get(stage, 1.0) * self.imbalance.get(rank, 1.0)
        return slow, "b" if rank in self.imbalance or stage in self.slow_stage else "a"

    def groups(self) -> dict[str, dict[int, Group]]:
        """By kind and rank, the group that a rank is in; groups of one are left out."""
        found: dict[str, dict[int, Group]] = {"tp": {}, "dp": {}, "ep": {}, "pp": {}}
        for number, (kind, ranks) in enumerate(self.members(), 1):
            if self.talks(kind, ranks):
                found[kind] |= dict.fromkeys(ranks, Group(str(number), kind, ranks))
        return found

    def run(self) -> Run:
        """Plays all ranks to the end."""
        return Run(self)


class Run:
    """What every rank did, in true time."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.groups = job.groups()
        self.did: list[list[Did]] = [[] for _ in range(job.world)]
        self._clock = [0] * job.world
        self._counts: dict[tuple[str, int], int] = {}
        self.noise = Noise(job.seed)
        self._play()
        self.step_starts = [
            [min(did.start for did in mine if did.step == step) for step in range(job.steps)] for mine in self.did
        ]
        self.ends = list(self._clock)

    def _program(self, rank: int) -> Iterator[tuple[Any, ...]]:
        job = self.job
        stage, _, _ = job.place(rank)
        pipe = self.groups["pp"].get(rank)
        place = pipe.ranks.index(rank) if pipe else 0
        before = pipe.ranks[place - 1] if pipe and place else None
        after = pipe.ranks[place + 1] if pipe and place + 1 < len(pipe.ranks) else None
        for step in range(job.steps):
            wrong = step >= job.from_step
            slow, shape = job.work(rank, stage) if wrong else (1.0, "a")
            yield ("input", step, MS + (job.slow_input.get(rank, 0) if wrong else 0), "a")
            if wrong and rank in job.late_host:
                yield ("python", step, job.late_host[rank], "a")
            for source, target in [(before, after)] * job.microbatches + [(after, before)] * job.microbatches:
                if source is not None:
                    yield ("recv", step, pipe, source)
                yield from self._layers(rank, step, slow, shape)
                if target is not None:
                    yield ("send", step, pipe, target)
            if rank in self.groups["dp"]:
                yield ("all_reduce", step, self.groups["dp"][rank], None)
            yield ("optimizer", step, MS // 2, "a")

    def _layers(self, rank: int, step: int, slow: float, shape: str) -> Iterator[tuple[Any, ...]]:
        for _ in range(self.job.layers):
            yield ("compute", step, int(2 * MS * slow * (1 + self.job.jitter * self.noise())), shape)
            for kind, what in (("tp", "all_reduce"), ("ep", "all_to_all")):
                if rank in self.groups[kind]:
                    yield (what, step, self.groups[kind][rank], None)

    def _play(self) -> None:
        programs = [self._program(rank) for rank in range(self.job.world)]
        waiting: dict[tuple[Any, ...], list[tuple[int, Did]]] = {}
        ready = list(range(self.job.world))
        while ready:
            rank = ready.pop()
            for what, step, *rest in programs[rank]:
                if what in ("input", "python", "compute", "optimizer"):
                    dur, shape = rest
                    self._add(rank, Did(what, self._clock[rank], self._clock[rank] + dur, step, shape))
                    self._clock[rank] += dur
                    continue
                group, peer = rest
                key, members, sequence = self._meeting(rank, what, group, peer)
                did = Did(what, self._clock[rank], 0, step, "a", group, sequence, peer)
                waiting.setdefault(key, []).append((rank, did))
                if len(waiting[key]) == members:
                    ready += self._meet(waiting.pop(key), group)
                break

    def _add(self, rank: int, did: Did) -> None:
        self.did[rank].append(did)

    def _meeting(self, rank: int, what: str, group: Group, peer: int | None) -> tuple[tuple[Any, ...], int, int]:
        pair = None if peer is None else (rank, peer) if what == "send" else (peer, rank)
        counted = (f"{group.name}{what}{pair}", rank)
        sequence = self._counts[counted] = self._counts.get(counted, 0) + 1
        return (group.name, pair, sequence), len(group.ranks) if pair is None else 2, sequence

    def _meet(self, met: list[tuple[int, Did]], group: Group) -> list[int]:
        wrong = met[0][1].step >= self.job.from_step
        transfer = int(TRANSFER[group.kind] * (self.job.slow_link.get(group.name, 1.0) if wrong else 1.0))
        end = max(did.start for _, did in met) + transfer
        for rank, did in met:
            did.end = end
            self._clock[rank] = end
            self._add(rank, did)
        return [rank for rank, _ in met]

    def local(self, rank: int, at: int) -> int:
        """A true time on the clock of a rank's host."""
        host = rank // self.job.hosts
        return int(at * (1 + self.job.drift.get(host, 0.0) * 1e-6)) + self.job.offset.get(host, 0)

    def groups_of(self, rank: int) -> list[Group]:
        return [by_rank[rank] for by_rank in self.groups.values() if rank in by_rank]

    def summary(self, rank: int) -> RankSummary:
        """The summary of a rank, as of its trace."""
        return summary_of(self, rank)

    def summaries(self) -> list[RankSummary]:
        return [self.summary(rank) for rank in range(self.job.world)]

    def trace(self, rank: int) -> TraceBuilder:
        """The trace of a rank: kernels with what kineto writes of their collectives."""
        return trace_of(self, rank)

    def write(self, folder: Path, *, without: tuple[int, ...] = ()) -> list[Path]:
        """Every rank's trace as `rank_N.json`."""
        return [
            self.trace(rank).write(folder / f"rank_{rank}.json")
            for rank in range(self.job.world)
            if rank not in without
        ]


def summary_of(run: Run, rank: int) -> RankSummary:
    job, mine = run.job, run.did[rank]
    zero = run.local(rank, run.step_starts[rank][0])
    groups = run.groups_of(rank)
    kinds = tuple(KERNELS)
    columns = CollectiveColumns()
    own: dict[str, int] = {}
    kernels: dict[str, tuple[int, int]] = {}
    own_columns: dict[str, list[int]] = {cause: [] for cause in (*_CAUSES, "communication")}
    for did in mine:
        start, end = run.local(rank, did.start) - zero, run.local(rank, did.end) - zero
        cause = _CAUSE_OF.get(did.what, "communication")
        if did.group is not None:
            for name, values in own_columns.items():
                values.append(own.get(name, 0))
            own = {}
            columns.step.append(did.step)
            columns.group.append(groups.index(did.group))
            columns.kind.append(kinds.index(did.what))
            columns.sequence.append(did.sequence if job.sequences else None)
            columns.peer.append(did.peer)
            size = BYTES[did.group.kind]
            columns.sent_bytes.append(size)
            columns.received_bytes.append(size)
            columns.start_ns.append(start)
            columns.dur_ns.append(end - start)
            columns.exposed_ns.append(end - start)
            columns.stream.append(20)
        if did.what == "compute":
            count, ns = kernels.get(did.shape, (0, 0))
            kernels[did.shape] = (count + 1, ns + end - start)
        own[cause] = own.get(cause, 0) + end - start
    columns.own_ns.update(own_columns)
    starts = [run.local(rank, at) - zero for at in (*run.step_starts[rank], run.ends[rank])]
    return RankSummary(
        tool_version="test", file=f"rank_{rank}.json", sha256=f"{rank:064x}", rank=rank, rank_source="distributedInfo",
        world_size=job.world, host=f"host{rank // job.hosts}", device="NVIDIA H100", device_kind="cuda", devices=1,
        origin_ns=zero, trust="ok", doubts=(), bound_by="compute", verdict="compute-bound",
        steps=tuple(
            StepPart(
                number=step, start_ns=starts[step], dur_ns=starts[step + 1] - starts[step],
                causes=_step_causes(run, rank, step),
            )
            for step in range(job.steps)
        ),
        groups=tuple(
            GroupPart(name=group.name, description=None, ranks=group.ranks, size=len(group.ranks)) for group in groups
        ),
        kinds=kinds, collectives=columns, tail_ns=own,
        kernels=tuple(
            KernelRow(name="gemm", shape=shape, count=count, dur_ns=ns) for shape, (count, ns) in kernels.items()
        ),
        findings=(),
    )  # fmt: skip


_CAUSE_OF = {"input": "input", "python": "python", "compute": "compute", "optimizer": "optimizer"}
_CAUSES = ("input", "python", "compute", "optimizer")


def _step_causes(run: Run, rank: int, step: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for did in run.did[rank]:
        if did.step == step:
            cause = _CAUSE_OF.get(did.what, "communication")
            found[cause] = found.get(cause, 0) + did.end - did.start
    return found


def trace_of(run: Run, rank: int) -> TraceBuilder:
    job = run.job
    info = {
        "backend": "nccl", "rank": rank, "world_size": job.world,
        "pg_config": [{"pg_name": one.name, "pg_size": len(one.ranks), "ranks": list(one.ranks)} for one in run.groups_of(rank)],
    }  # fmt: skip
    builder = TraceBuilder(top={"distributedInfo": info, "host_name": f"host{rank // job.hosts}"})

    def at(ns: int) -> float:
        return run.local(rank, ns) / 1000

    edges = [at(ns) for ns in (*run.step_starts[rank], run.ends[rank])]
    for step in range(job.steps):
        builder.step(step, edges[step], edges[step + 1] - edges[step])
    for did in run.did[rank]:
        start, dur = at(did.start), at(did.end) - at(did.start)
        if did.what == "input":
            builder.loader(start, dur)
        elif did.what == "python":
            builder.python("train.py(9): log_everything", start, dur)
        elif did.what == "optimizer":
            builder.optimizer(start, dur)
        elif did.group is None:
            dims = [[64, 1024]] if did.shape == "a" else [[128, 1024]]
            builder.op("aten::mm", start, 5, **{"Input Dims": dims, "Input type": ["float"]})
            builder.launch(start, kernel_start=start + 1, kernel_dur=dur - 1, name="gemm", op=None)
        else:
            builder.launch(
                start, kernel_start=start + 1, kernel_dur=dur - 1, name=KERNELS[did.what], stream=20, op=None,
                call_dur=min(5, dur), **collective_args(run.job, did),
            )  # fmt: skip
    return builder


def collective_args(job: Job, did: Did) -> dict[str, Any]:
    """What kineto writes into the kernel of a collective."""
    assert did.group is not None
    size = BYTES[did.group.kind] // 2
    args: dict[str, Any] = {
        "Collective name": TORCH_NAMES[did.what], "In msg nelems": size, "Out msg nelems": size, "dtype": "BFloat16",
        "In split size": "[]", "Out split size": "[]", "Process Group Name": did.group.name,
        "Process Group Description": "undefined", "Process Group Ranks": json.dumps(list(did.group.ranks)),
        "Group size": len(did.group.ranks),
    }  # fmt: skip
    if job.sequences:
        args["Seq"] = did.sequence
    if did.peer is not None:
        args["Dst Rank" if did.what == "send" else "Src Rank"] = did.peer
    return args
