"""Jobs of yet other schedules: GPipe, gathers without prefetching, averages that are rare, products cut up between messages.

Sources: GPipe (arXiv 1811.06965), ZeRO stage 3 without prefetching (arXiv 1910.02054), DiLoCo (arXiv 2311.08105), asynchronous
tensor parallelism (torch's `_micro_pipeline_tp`, decomposed into messages).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jobs.programs import MS, PROGRAMS, STREAMS, Play, RankProgram
from jobs.schedules import Stage

_Program = Iterator[tuple[Any, ...]]


def gpipe(play: Play, rank: int) -> _Program:
    """All forward passes of all microbatches, then all backward passes."""
    me = Stage(play, rank)
    for step in range(play.plan.steps):
        yield from me.begin(step)
        for _ in range(play.plan.microbatches):
            yield from me.forward()
        for _ in range(play.plan.microbatches):
            yield from me.backward()
        yield from me.comm("dp", "all_reduce", 50_000_000)
        yield from me.updated()


def zero3(play: Play, rank: int) -> _Program:
    """Each layer gathers its parameters when it comes to them; gradients are scattered behind."""
    me = RankProgram(play, rank)
    for step in range(play.plan.steps):
        yield from me.begin(step)
        for back in (False, True):
            for _ in range(play.plan.layers * 2):
                yield from me.comm("dp", "all_gather", 30_000_000)
                yield from me.layer(back)
                if back:
                    yield from me.comm("dp", "reduce_scatter", 30_000_000, wait=False)
        yield ("wait", STREAMS["dp"])
        yield from me.updated()


def diloco(play: Play, rank: int) -> _Program:
    """Ranks train alone for four steps; behind the fourth they average what they have moved, in pieces."""
    me, plan = RankProgram(play, rank), play.plan
    for step in range(plan.steps):
        yield from me.begin(step)
        for back in (False, True):
            for _ in range(plan.layers * 2):
                yield from me.layer(back)
        yield from me.gemm("adam", 0.3 * MS)
        if step % 4 == 3:
            for _ in range(3):
                yield from me.comm("dp", "all_reduce", 40_000_000)
            yield from me.gemm("nesterov", 0.1 * MS)
        yield ("sync", step)


class _Pieces(RankProgram):
    """A product over what the ranks of a layer hold: each piece is passed on while the one before it is multiplied."""

    def product(self, name: str, dur: float) -> _Program:
        team = self.play.team("tp", self.rank)
        assert team is not None
        place, many = team.ranks.index(self.rank), len(team.ranks)
        for hop in range(1, many):
            parts = (
                self.play.part("send", team, self.rank, 4_000_000, peer=team.ranks[(place - hop) % many]),
                self.play.part("recv", team, self.rank, 4_000_000, peer=team.ranks[(place + hop) % many]),
            )
            yield ("comm", self.step, STREAMS["tp"], parts)
            yield from self.gemm(name, dur / many)
            yield ("wait", STREAMS["tp"])
        yield from self.gemm(name, dur / many)


def asynctp(play: Play, rank: int) -> _Program:
    """Tensor parallelism whose products begin with the piece that a rank has; replicas reduce beside the backward pass."""
    me = _Pieces(play, rank)
    for step in range(play.plan.steps):
        yield from me.begin(step)
        for back in (False, True):
            for _ in range(play.plan.layers * 2):
                yield from me.product("backward_gemm" if back else "forward_gemm", (1.2 if back else 0.6) * MS)
                if back:
                    yield from me.comm("dp", "all_reduce", 10_000_000, wait=False)
        yield ("wait", STREAMS["dp"])
        yield from me.updated()


FURTHER: dict[str, Callable[[Play, int], _Program]] = {
    "gpipe": gpipe, "zero3": zero3, "diloco": diloco, "asynctp": asynctp,
}  # fmt: skip
PROGRAMS.update(FURTHER)
