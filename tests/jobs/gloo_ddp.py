"""A rank of DistributedDataParallel over gloo without a device, as torch 2.15 records it: what it reduces and sends.

Collectives run one after the other on a thread of gloo's own; the call returns at once, and the wait for it leaves no range.
"""

from __future__ import annotations

from typing import Any

from building.builders import TraceBuilder

GLOO = 77
_CALLS = {
    "all_reduce": "c10d::allreduce_", "all_gather": "c10d::_allgather_base_", "broadcast": "c10d::broadcast_",
    "barrier": "c10d::barrier",
}  # fmt: skip


class _Step:
    def __init__(self, builder: TraceBuilder, at: float, elements: int | None, each: float) -> None:
        self.builder, self.now, self._free, self._elements, self._each = builder, at, at, elements, each

    def _call(self, kind: str) -> None:
        shapes: dict[str, Any] = {}
        if self._elements is not None:
            shapes = {"Input Dims": [[self._elements]], "Input type": ["float"]}
        self.builder.event(_CALLS[kind], "cpu_op", self.now, 20)
        self.now += 20
        begin = max(self._free, self.now)
        self.builder.event(f"gloo:{kind}", "user_annotation", begin, self._each, tid=GLOO, args=shapes)
        self._free = begin + self._each

    def wait(self) -> None:
        self.now = max(self.now, self._free)

    def send(self, kinds: dict[str, int] | None, *, at_once: bool = False) -> None:
        """Collectives of the program, each waited for, or all of them at last."""
        for kind in [kind for kind, many in (kinds or {}).items() for _ in range(many)]:
            self._call(kind)
            if not at_once:
                self.wait()
        self.wait()

    def _ops(self, names: str) -> None:
        for name in names.split():
            self.builder.op(f"aten::{name}", self.now, 5)
            self.now += 10

    def gather_object(self, each: float) -> None:
        """An object that takes so long to pickle, and as long to unpickle."""
        self.now += each
        self._ops("empty set_ set_ to empty to lift_fresh to zeros")
        self.send({"all_gather": 1})
        self._ops("max empty fill_ item resize_ empty")
        self.send({"all_gather": 1})
        self._ops("chunk select to detach to resolve_conj resolve_neg item")
        self.now += each

    def gather_tensors(self, each: float) -> None:
        """Two tensors that are gathered in a row, between host code of the program."""
        self.now += each
        self._ops("stack to")
        self.send({"all_gather": 2})
        self._ops("select item")
        self.now += each

    def forward(self, joining: int = 0) -> None:
        begin = self.now
        self.now += 5
        self.send({"all_reduce": joining})
        self.builder.op("aten::linear", self.now + 5, 1_900)
        self.now += 1_995
        self.builder.annotation("DistributedDataParallel.forward", begin, self.now - begin)

    def backward(self, buckets: int, *, search: bool, kept: int = 0) -> None:
        if search:
            self.builder.op("torch.distributed.ddp.reducer::search_unused_parameters", self.now, 20)
            self.now += 20
        self.builder.op("autograd::engine::evaluate_function: AddmmBackward0", self.now, 1_000)
        self.builder.op("aten::mm", self.now + 10, 900)
        self.now += 1_000
        for place in range(buckets + kept):
            begin = self.now
            self.now += 10
            if place < buckets:
                self._call("all_reduce")
            self.now += 10
            name = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
            self.builder.op(name, begin, self.now - begin)
        self.wait()

    def update(self, optimizer: str, sent: dict[str, int] | None) -> None:
        begin = self.now
        self.builder.op("aten::add_", begin + 5, 100)
        self.now += 120
        self.send(sent, at_once=True)
        self.builder.optimizer(begin, self.now - begin + 10, optimizer)
        self.now += 20


def ddp(
    *,
    passes: int = 1,
    buckets: int | tuple[int, ...] = 2,
    updates: int = 1,
    reduced: int | None = None,
    accumulates: bool = False,
    elements: int | None = None,
    each: float = 1_000,
    before: dict[str, int] | None = None,
    behind: dict[str, int] | None = None,
    objects: float | None = None,
    tensors: float | None = None,
    in_update: dict[str, int] | None = None,
    optimizer: str = "SGD",
    search: bool = False,
    layers_between: bool = True,
    joining: int = 0,
) -> TraceBuilder:
    """Four steps.

    Args:
        passes: Backward passes before an update.
        buckets: Reductions in each, or in each one after the other.
        updates: Updates of a step, each behind passes of its own.
        reduced: In how many passes gradients are reduced, the last ones; None for all.
        accumulates: Whether the other passes bring as many gradients, which stay on the rank.
        elements: Floats in each collective; None without shapes.
        each: How long a collective takes, microseconds.
        before: Collectives of the program in front of each backward pass, by kind.
        behind: Those behind the last one.
        objects: Microseconds to pickle an object that is gathered behind the update, and to unpickle it; None without any.
        tensors: Microseconds of other host code before and behind two tensors that are gathered there; None without any.
        in_update: Those inside the optimizer's step.
        optimizer: Its class.
        search: Whether DDP looks for unused parameters.
        layers_between: Whether a forward pass is in front of every backward pass, not of the first alone.
        joining: Sums by which `Join` asks in each forward pass which ranks still have batches.
    """
    builder = TraceBuilder(None, top={"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2}})
    many = [buckets] * passes if isinstance(buckets, int) else list(buckets)
    many = many if reduced is None else [0] * (passes - reduced) + many[passes - reduced :]
    now = 0.0
    for number in range(4):
        step = _Step(builder, now, elements, each)
        for _ in range(updates):
            for index in range(passes):
                if layers_between or not index:
                    step.forward(joining)
                step.send(before)
                kept = max(many) - many[index] if accumulates else 0
                step.backward(many[index], search=search, kept=kept)
            step.send(behind)
            step.update(optimizer, in_update)
            if objects is not None:
                step.gather_object(objects)
            if tensors is not None:
                step.gather_tensors(tensors)
        builder.step(number, now, step.now - now)
        now = step.now
    return builder
