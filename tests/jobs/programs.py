"""Jobs of several ranks, played as devices play them: a host that launches ahead, streams, overlapping collectives, pipelines.

`simulated.py` plays ranks that do one thing after another; here a kernel begins when it was launched, its stream is free and what
it waits for is over. Programs are those of Megatron, FSDP2, DDP and a server with tensor parallelism. All times are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jobs.layout import Layout, Noise

MS, US = 1_000_000, 1_000
LAUNCH = 6 * US
COMPUTE = 7
# What a group moves a second, and what each collective takes at least.
BYTES_PER_NS = {"tp": 200, "ep": 100, "dp": 50, "pp": 50}
LATENCY = 20 * US


@dataclass(frozen=True)
class Team:
    """A process group: its kind, and its members in order."""

    kind: str
    ranks: tuple[int, ...]


@dataclass
class Part:
    """One collective, or one message of a batch, as a rank states it."""

    what: str
    team: Team
    sent: int
    received: int
    number: int
    peer: int | None = None
    splits: tuple[int, ...] = ()


@dataclass
class Event:
    """Something that a rank did: on its host, or on a stream of its device with the launch on the host."""

    what: str
    step: int
    start: int
    end: int
    launch: int = 0
    stream: int = 0
    shape: tuple[int, ...] = ()
    name: str = ""
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Plan(Layout):
    """A job, and what is wrong with it: a rank's, but for links, which are a team's members, and stages.

    Args:
        program: megatron, fsdp, ddp or serve.
        tokens: Factor on the work and the shapes of a rank.
        experts: Factor on what a rank's experts are sent.
        link: Factor on transfers of the groups in which both of two ranks are.
        node: Factor on transfers of the groups with members both on a machine of `per_node` ranks and off it.
        lengths: A rank's tokens differ in each step by so much at most, 0..1, as sequences do in length.
        routing: What a rank's experts are sent differs in each layer by so much at most, 0..1.
        since: Devices, loaders and Python are slow, and tokens more, from this step on.
        every: And in every so many steps only.
        hiccup: Python time that one rank spends in each step, another one each time, as collections of garbage come.
        buffered: Senders leave when a buffer has the message, whether or not somebody receives it.
    """

    program: str = "megatron"
    steps: int = 5
    layers: int = 2
    microbatches: int = 4
    device: dict[int, float] = field(default_factory=dict)
    tokens: dict[int, float] = field(default_factory=dict)
    experts: dict[int, float] = field(default_factory=dict)
    loader: dict[int, int] = field(default_factory=dict)
    python: dict[int, int] = field(default_factory=dict)
    stage: dict[int, float] = field(default_factory=dict)
    link: dict[tuple[int, int], float] = field(default_factory=dict)
    node: dict[int, float] = field(default_factory=dict)
    per_node: int = 8
    lengths: float = 0.0
    routing: float = 0.0
    since: int = 0
    every: int = 1
    hiccup: int = 0
    buffered: bool = False
    jitter: float = 0.02
    seed: int = 1

    def wrong(self, step: int) -> bool:
        """Whether devices, loaders and Python are slow in a step."""
        return step >= self.since and (step - self.since) % self.every == 0

    def crosses(self, node: int, ranks: tuple[int, ...]) -> bool:
        """Whether a group has members both on a machine and off it."""
        return len({rank // self.per_node == node for rank in ranks}) > 1

    def rank_at(self, stage: int, replica: int, part: int) -> int:
        return (stage * self.dp + replica) * self.tp + part


class Play:
    """A job that was played; `events[rank]` are in the order in which the host came to them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.teams = [Team(kind, ranks) for kind, ranks in plan.members() if plan.talks(kind, ranks)]
        self.events: list[list[Event]] = [[] for _ in range(plan.world)]
        self.starts: list[list[int]] = [[] for _ in range(plan.world)]
        self._chance = Noise(plan.seed)
        self._counts: dict[tuple[object, ...], int] = {}
        self._streams: list[dict[int, int]] = [{} for _ in range(plan.world)]
        self._host = [0] * plan.world
        self._met: dict[tuple[object, ...], dict[int, int]] = {}
        self._open: list[list[Event]] = [[] for _ in range(plan.world)]
        self._play()

    def team(self, kind: str, rank: int) -> Team | None:
        return next((one for one in self.teams if one.kind == kind and rank in one.ranks), None)

    def teams_of(self, rank: int) -> list[Team]:
        return [one for one in self.teams if rank in one.ranks]

    def noise(self) -> float:
        """Near 1, the same in every run."""
        return 1 + self.plan.jitter * self._chance()

    def _play(self) -> None:
        programs = [PROGRAMS[self.plan.program](self, rank) for rank in range(self.plan.world)]
        going = set(range(self.plan.world))
        held: dict[int, tuple[Any, ...]] = {}
        while going:
            moved = False
            for rank in sorted(going):
                while True:
                    one = held.pop(rank, None) or next(programs[rank], None)
                    if one is None:
                        going.discard(rank)
                        moved = True
                        break
                    if not self._do(rank, *one):
                        held[rank] = one
                        break
                    moved = True
            assert moved, "the program waits for itself"

    def _do(self, rank: int, what: str, *rest: Any) -> bool:
        """Does one thing; False where it needs the end of a collective that others have not reached."""
        if what == "step":
            self.starts[rank].append(self._host[rank])
        elif what in ("loader", "python"):
            step, dur = rest
            self.events[rank].append(Event(what, step, self._host[rank], self._host[rank] + dur))
            self._host[rank] += dur
        elif what == "compute":
            step, name, dur, shape = rest
            launch = self._launched(rank)
            start = max(launch + LAUNCH, self._streams[rank].get(COMPUTE, 0))
            self._streams[rank][COMPUTE] = start + dur
            self.events[rank].append(Event(what, step, start, start + dur, launch, COMPUTE, shape, name))
        elif what == "comm":
            return self._comm(rank, *rest)
        elif what == "wait":
            return self._wait(rank, *rest)
        elif what == "sync":
            if not self._settled(rank):
                return False
            now = max([self._host[rank], *self._streams[rank].values()])
            self.events[rank].append(Event("sync", rest[0], self._host[rank], now))
            self._host[rank] = now + LAUNCH
        return True

    def _launched(self, rank: int) -> int:
        at = self._host[rank]
        self._host[rank] += LAUNCH
        return at

    def _comm(self, rank: int, step: int, stream: int, parts: tuple[Part, ...]) -> bool:
        """A collective on a stream of its own, behind what was computed when it was launched."""
        if not self._settled(rank, stream):
            return False
        launch = self._launched(rank)
        start = max(launch + LAUNCH, self._streams[rank].get(stream, 0), self._streams[rank].get(COMPUTE, 0))
        event = Event("comm", step, start, 0, launch, stream, parts=parts)
        for part in parts:
            self._met.setdefault(_meeting(rank, part), {})[rank] = start
        self.events[rank].append(event)
        self._open[rank].append(event)
        return True

    def _settled(self, rank: int, stream: int | None = None) -> bool:
        """Whether all collectives of a rank have ended, on one stream or all; ends those that have."""
        for event in [one for one in self._open[rank] if stream in (None, one.stream)]:
            ends = [self._ended(rank, part) for part in event.parts]
            if any(end is None for end in ends):
                return False
            event.end = max(end for end in ends if end is not None)
            self._streams[rank][event.stream] = max(self._streams[rank].get(event.stream, 0), event.end)
            self._open[rank].remove(event)
        return True

    def _ended(self, rank: int, part: Part) -> int | None:
        met = self._met[_meeting(rank, part)]
        left = self.plan.buffered and part.what == "send"
        if not left and len(met) < (2 if part.peer is not None else len(part.team.ranks)):
            return None
        size = max(part.sent, part.received)
        ends = part.team.ranks if part.peer is None else (rank, part.peer)
        pairs = [by for pair, by in self.plan.link.items() if {*pair} <= {*ends}]
        slow = max([1.0, *pairs, *(by for node, by in self.plan.node.items() if self.plan.crosses(node, ends))])
        return (met[rank] if left else max(met.values())) + LATENCY + int(size / BYTES_PER_NS[part.team.kind] * slow)

    def _wait(self, rank: int, stream: int, ahead: int = 0) -> bool:
        """What is computed next waits for a stream, but for so many that were launched there last."""
        mine = self._streams[rank]
        if ahead:
            # A stream is played one by one: all but its last have ended.
            before = [one for one in self.events[rank] if one.what == "comm" and one.stream == stream][:-ahead]
            mine[COMPUTE] = max([mine.get(COMPUTE, 0), *(one.end for one in before)])
            return True
        if not self._settled(rank, stream):
            return False
        mine[COMPUTE] = max(mine.get(COMPUTE, 0), mine.get(stream, 0))
        return True

    def part(self, what: str, team: Team, rank: int, size: int, **more: Any) -> Part:
        """One collective with the group's next number."""
        received = more.pop("received", size)
        peer = more.get("peer")
        key = (team, rank, "p2p" if peer is not None else "", (rank, peer) if what == "send" else (peer, rank))
        number = self._counts[key] = self._counts.get(key, 0) + 1
        return Part(what, team, size, received, number, **more)


def _meeting(rank: int, part: Part) -> tuple[object, ...]:
    if part.peer is None:
        return (part.team, part.what, part.number)
    return (part.team, *((rank, part.peer) if part.what == "send" else (part.peer, rank)), part.number)


STREAMS = {"tp": 20, "ep": 24, "dp": 28, "pp": 32}
_Program = Iterator[tuple[Any, ...]]


class RankProgram:
    """What the programs of one rank are put together from."""

    def __init__(self, play: Play, rank: int) -> None:
        self.play, self.plan, self.rank = play, play.plan, rank
        self.stage = play.plan.place(rank)[0]
        self.step = 0
        self.length = 1.0
        self._lengths = Noise(1000 + rank)
        self._routed = 0

    def begin(self, step: int) -> _Program:
        self.step, plan = step, self.plan
        self.length = 1 + plan.lengths * self._lengths()
        yield ("step",)
        yield ("loader", step, MS // 2 + (plan.loader.get(self.rank, 0) if plan.wrong(step) else 0))
        python = plan.python.get(self.rank, 0) if plan.wrong(step) else 0
        if plan.hiccup and step % plan.world == self.rank:
            python += plan.hiccup
        if python:
            yield ("python", step, python)

    def updated(self) -> _Program:
        """The end of a step: the optimizer, and the host that waits for it."""
        yield from self.gemm("adam", 0.3 * MS)
        yield ("sync", self.step)

    def gemm(self, name: str, dur: float, more: float = 1.0) -> _Program:
        tokens = (self.plan.tokens.get(self.rank, 1.0) if self.plan.wrong(self.step) else 1.0) * more * self.length
        device = self.plan.device.get(self.rank, 1.0) if self.plan.wrong(self.step) else 1.0
        slow = device * self.plan.stage.get(self.stage, 1.0)
        many = 2 if self.stage in self.plan.stage else 1
        for _ in range(many):
            ns = int(dur * tokens * slow * self.play.noise() / many)
            yield ("compute", self.step, name, ns, (int(4096 * tokens), 4096))

    def comm(self, kind: str, what: str, size: int, *, wait: bool = True, **more: Any) -> _Program:
        team = self.play.team(kind, self.rank)
        if team is None:
            return
        yield (
            "comm", self.step, STREAMS[kind], (self.play.part(what, team, self.rank, size, **more),)
        )  # fmt: skip
        if wait:
            yield ("wait", STREAMS[kind])

    def layer(self, back: bool) -> _Program:
        name = "backward_gemm" if back else "forward_gemm"
        yield from self.gemm(name, (1.2 if back else 0.6) * MS)
        yield from self.comm("tp", "all_reduce", 16_000_000)
        team = self.play.team("ep", self.rank)
        if team is not None:
            shares = [self.sent_to(one) for one in team.ranks]
            mine = self.sent_to(self.rank)
            self._routed += 1
            sizes = {"received": int(8_000_000 * mine), "splits": tuple(int(1_000_000 * each) for each in shares)}
            yield from self.comm("ep", "all_to_all", 8_000_000, **sizes)
            yield from self.gemm("expert_" + name, (1.0 if back else 0.5) * MS, mine)
            yield from self.comm("ep", "all_to_all", int(8_000_000 * mine), received=8_000_000)

    def sent_to(self, rank: int) -> float:
        """How much the experts of a rank are sent in the layer that is next: all ranks know the same."""
        chance = Noise(100_003 * rank + self._routed)
        chance()
        return self.plan.experts.get(rank, 1.0) * (1 + self.plan.routing * chance())


class _Pipelined(RankProgram):
    """A rank of a 1F1B pipeline whose messages go in batches."""

    def __init__(self, play: Play, rank: int) -> None:
        super().__init__(play, rank)
        pipe = play.team("pp", rank)
        ranks = () if pipe is None else pipe.ranks
        self.pipe = pipe
        self.before = ranks[self.stage - 1] if ranks and self.stage else None
        self.after = ranks[self.stage + 1] if self.stage + 1 < len(ranks) else None

    def batch(self, *messages: tuple[str, int | None]) -> _Program:
        assert self.pipe is not None
        parts = tuple(
            self.play.part(what, self.pipe, self.rank, 4_000_000, peer=peer)
            for what, peer in messages
            if peer is not None
        )
        if parts:
            yield ("comm", self.step, STREAMS["pp"], parts)
            yield ("wait", STREAMS["pp"])

    def piece(self, back: bool) -> _Program:
        for _ in range(self.plan.layers):
            yield from self.layer(back)

    def passes(self) -> _Program:
        many = self.plan.microbatches
        if self.pipe is None:
            for _ in range(many):
                yield from self.piece(False)
                yield from self.piece(True)
            return
        warm = min(self.plan.pp - 1 - self.stage, many)
        for _ in range(warm):
            yield from self.batch(("recv", self.before))
            yield from self.piece(False)
            yield from self.batch(("send", self.after))
        if many > warm:
            yield from self.batch(("recv", self.before))
        for number in range(many - warm):
            yield from self.piece(False)
            yield from self.batch(("send", self.after), ("recv", self.after))
            yield from self.piece(True)
            last = number == many - warm - 1
            yield from self.batch(("send", self.before), ("recv", None if last else self.before))
        for _ in range(warm):
            yield from self.batch(("recv", self.after))
            yield from self.piece(True)
            yield from self.batch(("send", self.before))


def megatron(play: Play, rank: int) -> _Program:
    """Tensor parallelism inside, a 1F1B pipeline with batched messages, experts, a sharded optimizer."""
    me = _Pipelined(play, rank)
    for step in range(play.plan.steps):
        yield from me.begin(step)
        yield from me.passes()
        yield from me.comm("dp", "reduce_scatter", 100_000_000)
        yield from me.gemm("adam", 0.3 * MS)
        yield from me.comm("dp", "all_gather", 100_000_000)
        yield ("sync", step)


def fsdp(play: Play, rank: int) -> _Program:
    """Parameters are gathered one layer ahead, gradients scattered behind."""
    me, plan = RankProgram(play, rank), play.plan
    many = plan.layers * 2
    for step in range(plan.steps):
        yield from me.begin(step)
        for back in (False, True):
            yield from me.comm("dp", "all_gather", 30_000_000)
            for layer in range(many):
                if layer + 1 < many:
                    yield from me.comm("dp", "all_gather", 30_000_000, wait=False)
                yield from me.layer(back)
                if back:
                    yield from me.comm("dp", "reduce_scatter", 30_000_000, wait=False)
                yield ("wait", STREAMS["dp"])
        yield from me.updated()


def ddp(play: Play, rank: int) -> _Program:
    """Buckets of gradients are reduced beside the backward pass."""
    me, plan = RankProgram(play, rank), play.plan
    for step in range(plan.steps):
        yield from me.begin(step)
        for _ in range(plan.layers * 2):
            yield from me.layer(False)
        for _ in range(plan.layers * 2):
            yield from me.layer(True)
            yield from me.comm("dp", "all_reduce", 25_000_000, wait=False)
        yield ("wait", STREAMS["dp"])
        yield from me.updated()


def serve(play: Play, rank: int) -> _Program:
    """A server's decoding steps: two small all-reduces a layer, and the host that waits for the sampled token."""
    me, plan = RankProgram(play, rank), play.plan
    for step in range(plan.steps):
        me.step = step
        yield ("step",)
        yield ("python", step, MS + plan.python.get(rank, 0))
        for _ in range(plan.layers * 4):
            yield from me.gemm("qkv_gemm", 0.1 * MS)
            yield from me.comm("tp", "all_reduce", 500_000)
            yield from me.gemm("mlp_gemm", 0.2 * MS)
            yield from me.comm("tp", "all_reduce", 500_000)
        yield ("sync", step)


PROGRAMS = {"megatron": megatron, "fsdp": fsdp, "ddp": ddp, "serve": serve}
