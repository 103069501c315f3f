"""Traces of a played job as recorders of several versions and vendors write them: what groups are called, and what is said of each
collective.

Keys: pytorch, torch/csrc/profiler/util.cpp (`saveNcclMeta`), kineto, libkineto/src/output_json.cpp. A kernel of several messages or
of a coalesced bucket is launched when the batch ends, outside the ranges that describe its parts, and says nothing of itself
(pytorch issue 194693, mlcommons/chakra issue 178).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from analyzer.facts import Facts
from building.builders import TraceBuilder
from jobs.programs import LAUNCH, Event, Part, Plan, Play, Team

_TORCH = {
    "all_reduce": "allreduce", "all_gather": "_allgather_base", "reduce_scatter": "_reduce_scatter_base",
    "all_to_all": "all_to_allv", "send": "send", "recv": "recv",
}  # fmt: skip
_NCCL = {
    "all_reduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "all_gather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "reduce_scatter": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}
_SENDRECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
_MEGATRON = {
    "tp": "TENSOR_MODEL_PARALLEL_GROUP", "pp": "PIPELINE_MODEL_PARALLEL_GROUP", "dp": "DATA_PARALLEL_GROUP_WITH_CP",
    "ep": "EXPERT_MODEL_PARALLEL_GROUP",
}  # fmt: skip
_MESH = {"tp": "mesh_tp", "pp": "mesh_pp", "dp": "mesh_dp_shard", "ep": "mesh_ep"}


@dataclass(frozen=True)
class Recorder:
    """What a recorder writes.

    Args:
        described: What groups are said to be for, by kind; None where the program says nothing.
        named: Whether groups have names and members at all (torch 2.2).
        sequences: Whether collectives are numbered (torch 2.7).
        sizes: Whether bytes are stated (torch 2.1).
        cut: Whether lists of members are cut short.
        device: cuda or rocm.
        shapes: Whether shapes of ops were recorded.
        info: Whether `distributedInfo` stands in the file, with its groups.
    """

    described: dict[str, str] | None = None
    named: bool = True
    sequences: bool = True
    sizes: bool = True
    cut: bool = False
    device: str = "cuda"
    shapes: bool = True
    info: bool = True


RECORDERS = {
    "megatron": Recorder(_MEGATRON),
    "titan": Recorder(_MESH),
    "deepspeed, torch 2.4": Recorder(sequences=False),
    "torch 2.1": Recorder(named=False, sequences=False),
    "torch 1.13": Recorder(named=False, sequences=False, sizes=False, info=False),
    "members cut": Recorder(_MEGATRON, cut=True),
    "rccl": Recorder(_MEGATRON, device="rocm", sequences=False),
    "no shapes": Recorder(_MESH, shapes=False),
}


Clock = Callable[[int, int], int]


def write_job(
    play: Play,
    folder: Path,
    recorder: str | Recorder,
    *,
    clock: Clock | None = None,
    ranks_per_host: int = 8,
    kept: Mapping[int, range] = MappingProxyType({}),
    ranks: Sequence[int] | None = None,
) -> list[Path]:
    """Every rank's trace as `rank_N.json`.

    Args:
        play: The job.
        folder: Where to.
        recorder: How.
        clock: The clock of a host, from true time; None for one that all share.
        ranks_per_host: So many ranks share a host.
        kept: Steps that a rank recorded; all where nothing is said of it.
        ranks: Whose traces are written; None for all.
    """
    how = RECORDERS[recorder] if isinstance(recorder, str) else recorder
    return [
        trace_of(play, rank, how, rank // ranks_per_host, clock, kept.get(rank)).write(folder / f"rank_{rank}.json")
        for rank in (range(play.plan.world) if ranks is None else ranks)
    ]


def trace_of(
    play: Play, rank: int, how: Recorder, host: int, clock: Clock | None = None, kept: range | None = None
) -> TraceBuilder:
    """The trace of a rank."""
    top: dict[str, Any] = {"host_name": f"host{host}"}
    if how.info:
        top["distributedInfo"] = _info(play, rank, how)
    return _Writer(
        play, rank, how, TraceBuilder(how.device, top=top), None if clock is None else partial(clock, host)
    ).written(range(play.plan.steps) if kept is None else kept)


def _name(play: Play, team: Team) -> str:
    return str(play.teams.index(team) + 1)


def _info(play: Play, rank: int, how: Recorder) -> dict[str, Any]:
    info: dict[str, Any] = {"backend": "nccl", "rank": rank, "world_size": play.plan.world}
    if how.named and not how.cut:
        info["pg_config"] = [
            {"pg_name": _name(play, one), "pg_desc": _said(how, one), "pg_size": len(one.ranks), "ranks": list(one.ranks)}
            for one in play.teams_of(rank)
        ]  # fmt: skip
    return info


def _said(how: Recorder, team: Team) -> str:
    return "undefined" if how.described is None else how.described[team.kind]


class _Writer:
    def __init__(
        self, play: Play, rank: int, how: Recorder, builder: TraceBuilder, clock: Callable[[int], int] | None
    ) -> None:
        self.play, self.rank, self.how, self.builder = play, rank, how, builder
        self.clock = clock

    def at(self, ns: int) -> float:
        return (ns if self.clock is None else self.clock(ns)) / 1000

    def written(self, kept: range) -> TraceBuilder:
        events = self.play.events[self.rank]
        ends = [*self.play.starts[self.rank][1:], max(one.end for one in events)]
        for step, (start, end) in enumerate(zip(self.play.starts[self.rank], ends, strict=True)):
            if step in kept:
                self.builder.step(step, self.at(start), self.at(end) - self.at(start))
        for event in (one for one in events if one.step in kept):
            getattr(self, f"_{event.what}")(event, self.at(event.start), self.at(event.end) - self.at(event.start))
        return self.builder

    def _loader(self, event: Event, start: float, dur: float) -> None:
        self.builder.loader(start, dur)

    def _python(self, event: Event, start: float, dur: float) -> None:
        self.builder.python("train.py(9): log_everything", start, dur)

    def _sync(self, event: Event, start: float, dur: float) -> None:
        self.builder.runtime(
            "hipDeviceSynchronize" if self.how.device == "rocm" else "cudaDeviceSynchronize", start, dur
        )

    def _compute(self, event: Event, start: float, dur: float) -> None:
        at = self.at(event.launch)
        dims: dict[str, Any] = {"Input Dims": [[*event.shape], [4096, 4096]], "Input type": ["c10::BFloat16"] * 2}
        self.builder.op("aten::mm", at, LAUNCH / 1000 * 0.9, **(dims if self.how.shapes else {}))
        self._launched(at + 1, event.name, start, dur, event.stream, {})

    def _comm(self, event: Event, start: float, dur: float) -> None:
        at, batch = self.at(event.launch), len(event.parts) > 1 or event.parts[0].peer is not None
        each = LAUNCH / 1000 * 0.6 / len(event.parts)
        said = [self._said(part) for part in event.parts]
        for number, (part, args) in enumerate(zip(event.parts, said, strict=True)):
            self._ranges(part, at + number * each, each, args)
        args = {} if batch or not self.how.sizes else said[0]
        inside = at + LAUNCH / 1000 * 0.7 if batch else at + each * 0.3
        name = _NCCL.get(event.parts[0].what, _SENDRECV)
        if self.how.device == "rocm":
            name = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
        self._launched(inside, name, start, dur, event.stream, args)

    def _ranges(self, part: Part, at: float, dur: float, args: dict[str, Any]) -> None:
        """What the host says while it issues a collective."""
        if self.how.sizes:
            self.builder.op("record_param_comms", at, dur, **args)
        dims = {"Input Dims": [[part.sent // 2]], "Input type": ["c10::BFloat16"]} if self.how.shapes else {}
        self.builder.event(f"nccl:{part.what}", "user_annotation", at + dur * 0.1, dur * 0.8, args=dims)

    def _launched(self, at: float, name: str, start: float, dur: float, stream: int, args: dict[str, Any]) -> None:
        self.builder.launch(
            at, kernel_start=start, kernel_dur=dur, name=name, stream=stream, op=None, call_dur=1, **args
        )  # fmt: skip

    def _said(self, part: Part) -> dict[str, Any]:
        """What torch says of one collective."""
        team, how = part.team, self.how
        said: dict[str, Any] = {
            "Collective name": _TORCH[part.what], "In msg nelems": part.sent // 2, "Out msg nelems": part.received // 2,
            "dtype": "BFloat16", "Group size": len(team.ranks), "In split size": json.dumps(list(part.splits)),
            "Out split size": "[]",
        }  # fmt: skip
        if how.named:
            cut = how.cut and len(team.ranks) > 1
            ranks = f"[{team.ranks[0]}, ...]" if cut else json.dumps(list(team.ranks))
            said |= {"Process Group Name": _name(self.play, team), "Process Group Ranks": ranks}
            said["Process Group Description"] = _said(how, team)
            if part.peer is not None and not cut:
                said["Dst Rank" if part.what == "send" else "Src Rank"] = part.peer
        if how.sequences:
            said["Seq"] = part.number
        return said


def facts_of(plan: Plan, recorder: str = "megatron") -> tuple[Facts, ...]:
    """Measurements of every rank of a job."""
    play = Play(plan)
    return tuple(Facts(trace_of(play, rank, RECORDERS[recorder], 0).trace()) for rank in range(plan.world))
