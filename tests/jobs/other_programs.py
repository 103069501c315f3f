"""Jobs with other ways to share work among ranks: long sequences, copies of shards, buckets of a sharded optimizer, several turns.

Sources: ring attention (arXiv 2310.01889), Ulysses (arXiv 2309.14509), hybrid shards (FSDP's `HYBRID_SHARD`), ZeRO stage 2
(arXiv 1910.02054), interleaved stages (arXiv 2104.04473), `no_sync` of DDP, local SGD (arXiv 1805.09767).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jobs.programs import MS, PROGRAMS, STREAMS, Play, RankProgram

_Program = Iterator[tuple[Any, ...]]


class _Ring(RankProgram):
    """Passes keys and values on to its neighbour while it computes with those it has."""

    def attention(self, back: bool) -> _Program:
        team = self.play.team("tp", self.rank)
        assert team is not None
        place, many = team.ranks.index(self.rank), len(team.ranks)
        after, before = team.ranks[(place + 1) % many], team.ranks[(place - 1) % many]
        for hop in range(many):
            if hop + 1 < many:
                parts = (
                    self.play.part("send", team, self.rank, 20_000_000, peer=after),
                    self.play.part("recv", team, self.rank, 20_000_000, peer=before),
                )
                yield ("comm", self.step, STREAMS["tp"], parts)
            yield from self.gemm("flash_backward" if back else "flash_forward", (0.6 if back else 0.3) * MS)
            if hop + 1 < many:
                yield ("wait", STREAMS["tp"])


def ring(play: Play, rank: int) -> _Program:
    """Ring attention over the ranks of a sequence; gradients are reduced over copies of the model and over the sequence."""
    me = _Ring(play, rank)
    for step in range(play.plan.steps):
        yield from me.begin(step)
        for back in (False, True):
            for _ in range(play.plan.layers * 2):
                yield from me.gemm("backward_gemm" if back else "forward_gemm", 0.5 * MS)
                yield from me.attention(back)
        yield from me.comm("dp", "all_reduce", 60_000_000)
        yield from me.comm("tp", "all_reduce", 60_000_000)
        yield from me.updated()


def ulysses(play: Play, rank: int) -> _Program:
    """Each layer's attention lies between two exchanges of sequence for heads; parameters are sharded."""
    me, plan = RankProgram(play, rank), play.plan
    for step in range(plan.steps):
        yield from me.begin(step)
        for back in (False, True):
            for _ in range(plan.layers * 2):
                yield from me.comm("dp", "all_gather", 20_000_000)
                yield from me.gemm("qkv_gemm", (0.6 if back else 0.3) * MS)
                yield from me.comm("tp", "all_to_all", 12_000_000)
                yield from me.gemm("flash", (0.8 if back else 0.4) * MS)
                yield from me.comm("tp", "all_to_all", 12_000_000)
                yield from me.gemm("mlp_gemm", (0.6 if back else 0.3) * MS)
                if back:
                    yield from me.comm("dp", "reduce_scatter", 20_000_000, wait=False)
            yield ("wait", STREAMS["dp"])
        yield from me.updated()


def hybrid(play: Play, rank: int) -> _Program:
    """Shards inside a machine, copies of them across machines: gathers and scatters here, a sum of shards there."""
    me, plan = RankProgram(play, rank), play.plan
    for step in range(plan.steps):
        yield from me.begin(step)
        for back in (False, True):
            for _ in range(plan.layers * 2):
                yield from me.comm("tp", "all_gather", 30_000_000)
                yield from me.gemm("backward_gemm" if back else "forward_gemm", (1.2 if back else 0.6) * MS)
                if back:
                    yield from me.comm("tp", "reduce_scatter", 30_000_000)
                    yield from me.comm("dp", "all_reduce", 8_000_000, wait=False)
        yield ("wait", STREAMS["dp"])
        yield from me.updated()


def zero(play: Play, rank: int) -> _Program:
    """Buckets of gradients are scattered beside the backward pass, then parameters are gathered in four pieces."""
    me, plan = RankProgram(play, rank), play.plan
    for step in range(plan.steps):
        yield from me.begin(step)
        for _ in range(plan.layers * 2):
            yield from me.gemm("forward_gemm", 0.6 * MS)
        for _ in range(plan.layers * 2):
            yield from me.gemm("backward_gemm", 1.2 * MS)
            yield from me.comm("dp", "reduce_scatter", 25_000_000, wait=False)
        yield ("wait", STREAMS["dp"])
        yield from me.gemm("adam", 0.3 * MS)
        for _ in range(4):
            yield from me.comm("dp", "all_gather", 10_000_000)
        yield ("sync", step)


def accumulating(play: Play, rank: int) -> _Program:
    """DDP that reduces in the last of four backward passes only."""
    me, plan = RankProgram(play, rank), play.plan
    for step in range(plan.steps):
        yield from me.begin(step)
        for turn in range(4):
            for _ in range(plan.layers):
                yield from me.gemm("forward_gemm", 0.6 * MS)
            for _ in range(plan.layers):
                yield from me.gemm("backward_gemm", 1.2 * MS)
                if turn == 3:
                    yield from me.comm("dp", "all_reduce", 25_000_000, wait=False)
        yield ("wait", STREAMS["dp"])
        yield from me.updated()


def seldom(play: Play, rank: int) -> _Program:
    """Local SGD: ranks train alone, and average their parameters in every second step."""
    me, plan = RankProgram(play, rank), play.plan
    for step in range(plan.steps):
        yield from me.begin(step)
        for _ in range(plan.layers * 2):
            yield from me.gemm("forward_gemm", 0.6 * MS)
            yield from me.gemm("backward_gemm", 1.2 * MS)
        yield from me.gemm("adam", 0.3 * MS)
        if step % 2:
            yield from me.comm("dp", "all_reduce", 60_000_000)
        yield ("sync", step)


class _Chunks(RankProgram):
    """Two pieces of the model a rank: what leaves the last rank comes to the first again. Messages go one by one."""

    def message(self, what: str, peer: int) -> _Program:
        team = self.play.team("pp", self.rank)
        assert team is not None
        stream = STREAMS["pp"] + (what == "send")
        yield ("comm", self.step, stream, (self.play.part(what, team, self.rank, 4_000_000, peer=peer),))

    def piece(self, back: bool, number: int) -> _Program:
        """One of the chunks for one microbatch; `number` counts chunks in the order of the model."""
        team = self.play.team("pp", self.rank)
        assert team is not None
        many = len(team.ranks)
        place = team.ranks.index(self.rank)
        before, after = team.ranks[(place - 1) % many], team.ranks[(place + 1) % many]
        last = 2 * many - 1
        first_of_pass = number == (last if back else 0)
        last_of_pass = number == (0 if back else last)
        if not first_of_pass:
            yield from self.message("recv", after if back else before)
            yield ("wait", STREAMS["pp"])
        for _ in range(self.plan.layers):
            yield from self.layer(back)
        if not last_of_pass:
            yield from self.message("send", before if back else after)


def interleaved(play: Play, rank: int) -> _Program:
    """All forward passes, then all backward passes, of two chunks a rank."""
    me, plan = _Chunks(play, rank), play.plan
    team = play.team("pp", rank)
    assert team is not None
    place, many = team.ranks.index(rank), len(team.ranks)
    for step in range(plan.steps):
        yield from me.begin(step)
        for chunk in (place, place + many):
            for _ in range(plan.microbatches):
                yield from me.piece(False, chunk)
        for chunk in (place + many, place):
            for _ in range(plan.microbatches):
                yield from me.piece(True, chunk)
        yield ("wait", STREAMS["pp"] + 1)
        yield from me.comm("dp", "all_reduce", 50_000_000)
        yield from me.updated()


OTHERS: dict[str, Callable[[Play, int], _Program]] = {
    "ring": ring,
    "ulysses": ulysses,
    "hybrid": hybrid,
    "zero": zero,
    "accumulating": accumulating,
    "seldom": seldom,
    "interleaved": interleaved,
}
PROGRAMS.update(OTHERS)
