"""Schedules with buffered messages and gathers that run ahead: 1F1B of many microbatches, split backward passes, FSDP2, sequences.

Sources: PipeDream-Flush (arXiv 2006.09503), zero bubble (arXiv 2401.10241), FSDP2's `set_modules_to_forward_prefetch`, sequence
parallelism beside tensor parallelism (arXiv 2205.05198). Messages that are not batched go over one stream for each two ranks
(torch, ProcessGroupNCCL.cpp, `getKeySendRecv`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jobs.programs import MS, PROGRAMS, STREAMS, Play, RankProgram

_Program = Iterator[tuple[Any, ...]]


class Stage(RankProgram):
    """A stage whose messages go one by one."""

    def __init__(self, play: Play, rank: int) -> None:
        super().__init__(play, rank)
        pipe = play.team("pp", rank)
        assert pipe is not None
        self.pipe = pipe
        self.before = pipe.ranks[self.stage - 1] if self.stage else None
        self.after = pipe.ranks[self.stage + 1] if self.stage + 1 < len(pipe.ranks) else None

    def message(self, what: str, peer: int | None) -> _Program:
        if peer is None:
            return
        stream = STREAMS["pp"] + (peer > self.rank)
        part = self.play.part(what, self.pipe, self.rank, 4_000_000, peer=peer)
        yield ("comm", self.step, stream, (part,))
        if what == "recv":
            yield ("wait", stream)

    def forward(self) -> _Program:
        yield from self.message("recv", self.before)
        for _ in range(self.plan.layers):
            yield from self.layer(False)
        yield from self.message("send", self.after)

    def backward(self) -> _Program:
        yield from self.message("recv", self.after)
        for _ in range(self.plan.layers):
            yield from self.layer(True)
        yield from self.message("send", self.before)


def eager(play: Play, rank: int) -> _Program:
    """1F1B: as many forward passes ahead as there are stages behind, then one of each."""
    me, plan = Stage(play, rank), play.plan
    ahead = min(plan.pp - 1 - me.stage, plan.microbatches)
    for step in range(plan.steps):
        yield from me.begin(step)
        for _ in range(ahead):
            yield from me.forward()
        for _ in range(plan.microbatches - ahead):
            yield from me.forward()
            yield from me.backward()
        for _ in range(ahead):
            yield from me.backward()
        yield from me.comm("dp", "all_reduce", 50_000_000)
        yield from me.updated()


class _Split(Stage):
    """Gradients of inputs are sent on before those of weights are computed."""

    def backward(self) -> _Program:
        yield from self.message("recv", self.after)
        for _ in range(self.plan.layers):
            yield from self.gemm("input_gradients", 0.6 * MS)
        yield from self.message("send", self.before)

    def weights(self) -> _Program:
        for _ in range(self.plan.layers):
            yield from self.gemm("weight_gradients", 0.6 * MS)


def split(play: Play, rank: int) -> _Program:
    """ZB-H1: gradients of weights fill what would be a bubble."""
    me, plan = _Split(play, rank), play.plan
    ahead = min(plan.pp - 1 - me.stage, plan.microbatches)
    for step in range(plan.steps):
        yield from me.begin(step)
        for _ in range(ahead):
            yield from me.forward()
        for number in range(plan.microbatches - ahead):
            yield from me.forward()
            yield from me.backward()
            if number >= me.stage:
                yield from me.weights()
        for _ in range(ahead):
            yield from me.backward()
            yield from me.weights()
        for _ in range(min(me.stage, plan.microbatches - ahead)):
            yield from me.weights()
        yield from me.comm("dp", "all_reduce", 50_000_000)
        yield from me.updated()


def fsdp2(play: Play, rank: int) -> _Program:
    """Two layers are gathered ahead on one stream, gradients scattered on another, each with its copies in and out."""
    me, plan = RankProgram(play, rank), play.plan
    many = plan.layers * 2
    scatter = STREAMS["dp"] + 1
    for step in range(plan.steps):
        yield from me.begin(step)
        for back in (False, True):
            asked = 0
            for layer in range(many):
                while asked < min(layer + 3, many):
                    yield from me.comm("dp", "all_gather", 30_000_000, wait=False)
                    asked += 1
                yield ("wait", STREAMS["dp"], asked - layer - 1)
                yield from me.gemm("split_with_sizes_copy", 0.05 * MS)
                yield from me.layer(back)
                if back:
                    yield from me.gemm("chunk_cat", 0.05 * MS)
                    team = me.play.team("dp", rank)
                    assert team is not None
                    part = me.play.part("reduce_scatter", team, rank, 60_000_000)
                    yield ("comm", step, scatter, (part,))
        yield ("wait", scatter)
        yield from me.updated()


def sequence(play: Play, rank: int) -> _Program:
    """Each layer's products lie between a gather and a scatter over the ranks of a sequence; replicas reduce their gradients."""
    me, plan = RankProgram(play, rank), play.plan
    for step in range(plan.steps):
        yield from me.begin(step)
        for back in (False, True):
            for _ in range(plan.layers * 2):
                yield from me.gemm("layer_norm", 0.1 * MS)
                yield from me.comm("tp", "all_gather", 16_000_000)
                yield from me.gemm("backward_gemm" if back else "forward_gemm", (1.2 if back else 0.6) * MS)
                yield from me.comm("tp", "reduce_scatter", 16_000_000)
                if back:
                    yield from me.comm("dp", "reduce_scatter", 20_000_000, wait=False)
        yield ("wait", STREAMS["dp"])
        yield from me.gemm("adam", 0.3 * MS)
        yield from me.comm("dp", "all_gather", 40_000_000)
        yield ("sync", step)


SCHEDULES: dict[str, Callable[[Play, int], _Program]] = {
    "eager": eager, "split": split, "fsdp2": fsdp2, "sequence": sequence,
}  # fmt: skip
PROGRAMS.update(SCHEDULES)
