"""Stages of a pipeline over gloo on one host without a device, as torch's GPipe schedule runs them: traces as gloo leaves them.

A message's range begins where it is issued and lasts until it is waited for, that of a sender until the end of the step; torch
states neither its group nor its peer, but in the inputs of the call where shapes are recorded.
"""

from __future__ import annotations

from typing import Any

from building.builders import TraceBuilder

MS = 1_000
BETWEEN = 100


class _Rank:
    def __init__(self, rank: int, world: int, *, shapes: bool, message: float, info: dict[str, Any]) -> None:
        top = {"distributedInfo": {"backend": "gloo", "rank": rank, "world_size": world, **info}, "host_name": "one"}
        self.builder, self._shapes, self.at = TraceBuilder(None, top=top), shapes, 0.0
        self._message = message
        self._sent: list[dict[str, Any]] = []
        self.begun = 0.0
        self.python = 0.0

    def compute(self, dur: float, *, back: bool = False) -> None:
        self.at += self.python
        if back:
            self.builder.op("autograd::engine::evaluate_function: MmBackward0", self.at, dur)
        self.builder.op("aten::mm", self.at, dur)
        self.at += dur

    def _call(self, name: str, peer: int) -> None:
        inputs = {"Concrete Inputs": ["", "", str(peer), "0"], "Input Dims": [[[8, 8]], [], [], []]}
        args = inputs if self._shapes else {}
        self.builder.event(name, "cpu_op", self.at, 50, args=args)
        self.at += 50

    def send(self, peer: int) -> float:
        """When the message can be there."""
        self._call("c10d::send", peer)
        self._sent.append(self.builder.event("gloo:send", "user_annotation", self.at - 5, 0))
        return self.at + self._message

    def receive(self, peer: int, there: float) -> None:
        self.wait(self.ask(peer), there)

    def ask(self, peer: int) -> float:
        """When the message is asked for."""
        self._call("c10d::recv_", peer)
        return self.at - 5

    def wait(self, asked: float, there: float) -> None:
        self.at = max(self.at, there)
        self.builder.annotation("gloo:recv", asked, self.at - asked)

    def end_step(self, number: int, *, updates: bool = True) -> None:
        self.at += BETWEEN
        for one in self._sent:
            one["dur"] = self.at - one["ts"]
        self._sent.clear()
        if updates:
            self.builder.optimizer(self.at, BETWEEN)
        self.at += BETWEEN
        self.builder.step(number, self.begun, self.at - self.begun)
        self.begun = self.at


def served(workers: int, *, steps: int = 6) -> list[TraceBuilder]:
    """A parameter server, rank 0: each worker sends it gradients, and gets weights back when all have."""
    ranks = [
        _Rank(rank, workers + 1, shapes=True, message=0.3 * MS, info={"pg_count": 1}) for rank in range(workers + 1)
    ]
    server, others = ranks[0], ranks[1:]
    for step in range(steps):
        for one in others:
            one.compute(10 * MS, back=True)
        there = [one.send(0) for one in others]
        for peer, at in enumerate(there, start=1):
            server.receive(peer, at)
        server.compute(2 * MS)
        for peer, one in enumerate(others, start=1):
            one.receive(0, server.send(peer))
        server.end_step(step)
        for one in others:
            one.end_step(step, updates=False)
    return [one.builder for one in ranks]


def of_rank(info: dict[str, Any], rank: int) -> dict[str, Any]:
    """What `distributedInfo` says, with the groups alone that a rank is in."""
    groups = [group for group in info.get("pg_config", ()) if rank in group["ranks"]]
    return info | ({"pg_config": groups} if groups else {})


def gpipe(
    work_ms: tuple[float, ...],
    microbatches: int,
    *,
    steps: int = 6,
    shapes: bool = False,
    message_ms: float = 0.3,
    python_ms: float = 0.0,
    early: bool = False,
    info: dict[str, Any] | None = None,
    numbers: tuple[int, ...] = (),
) -> list[TraceBuilder]:
    """The traces of all ranks.

    Args:
        work_ms: What each stage computes in the forward pass of a microbatch; twice that in the backward pass.
        microbatches: Of each step.
        steps: How many there are.
        shapes: Whether shapes are recorded.
        message_ms: How long a message is on its way.
        python_ms: What a stage does in Python in front of each micro-batch.
        early: Whether a message is asked for in front of the micro-batch before its own.
        info: What `distributedInfo` says beside rank and number of ranks; `pg_config` of the groups that have the rank.
        numbers: The rank of each stage, if it is not its place: messages go to places in a group of those ranks.
    """
    world = len(work_ms)
    ranks = [
        _Rank(rank, world, shapes=shapes, message=message_ms * MS, info=of_rank(info or {}, rank))
        for rank in numbers or range(world)
    ]
    for one in ranks:
        one.python = python_ms * MS
    for step in range(steps):
        for back in (False, True):
            there = [0.0] * microbatches
            order = range(world - 1, -1, -1) if back else range(world)
            for stage in order:
                before, after = (stage + 1, stage - 1) if back else (stage - 1, stage + 1)
                asked: list[float] = []
                for number in range(microbatches):
                    if 0 <= before < world:
                        while len(asked) < min(number + 1 + early, microbatches):
                            asked.append(ranks[stage].ask(before))
                        ranks[stage].wait(asked[number], there[number])
                    ranks[stage].compute(work_ms[stage] * MS * (2 if back else 1), back=back)
                    if 0 <= after < world:
                        there[number] = ranks[stage].send(after)
        for one in ranks:
            one.end_step(step)
    return [one.builder for one in ranks]
