"""CO001 of programs that send weights and gradients themselves: what each is, in which steps, and the change that fits it."""

from __future__ import annotations

from typing import Any

import pytest

from building.builders import TraceBuilder
from rules.communication.exposed import RULE
from running.one_rule import judged

ONCE, SELDOM, DDP, UNKNOWN = (
    "torch.distributed.broadcast(parameter.data, 0)",
    "vector_to_parameters(flat",
    "model = torch.nn.parallel.DistributedDataParallel(model)   # and",
    "The trace shows no DistributedDataParallel",
)
SIZES = (250_000, 1_000, 90_000)


def program(
    *,
    summed: tuple[int, ...] = (),
    behind: str = "",
    sizes: tuple[int, ...] = SIZES,
    every: int = 1,
    module: bool = False,
) -> TraceBuilder:
    """Eight steps over gloo without a device.

    Args:
        summed: Floats of each sum between the backward pass and the update.
        behind: The kind of what is sent behind the update; empty for nothing.
        sizes: Floats of each of that.
        every: In one of so many steps.
        module: Whether DDP runs the model.
    """
    builder = TraceBuilder(None, top={"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2}})
    at = 0.0

    def send(kind: str, floats: tuple[int, ...]) -> None:
        nonlocal at
        for elements in floats:
            sent: dict[str, Any] = {"Input Dims": [[elements]], "Input type": ["float"]}
            builder.event(f"gloo:{kind}", "user_annotation", at, 2_000, tid=77, args=sent)
            at += 2_010

    for number in range(8):
        start = at
        if module:
            builder.annotation("DistributedDataParallel.forward", at, 5_000)
        builder.op("aten::linear", at, 5_000)
        builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 5_000, 5_000)
        at += 10_010
        send("all_reduce", summed)
        builder.optimizer(at, 1_000)
        at += 1_010
        if behind and number % every == every - 1:
            send(behind, sizes)
        builder.step(number, start, at - start)
    return builder


def told(builder: TraceBuilder) -> str:
    return "\n".join(f"{fix.code}\n{fix.note}" for fix in judged(RULE, builder).finding.fix)


@pytest.mark.parametrize(
    ("world", "words"),
    [
        ({"summed": SIZES}, {DDP}),
        ({"behind": "all_reduce"}, {SELDOM}),
        ({"behind": "all_reduce", "every": 4}, {SELDOM}),
        ({"summed": SIZES, "behind": "broadcast"}, {ONCE, DDP}),
        # Of other sizes than what is summed they may be anything.
        ({"summed": SIZES, "behind": "broadcast", "sizes": (77_000, 77_000)}, {DDP}),
        # Nothing sums gradients: one rank may apply them for all.
        ({"behind": "broadcast"}, {UNKNOWN}),
        # A few numbers are no weights.
        ({"behind": "all_reduce", "sizes": (2, 2, 2)}, set()),
        ({"summed": SIZES, "module": True}, set()),
    ],
    ids=["summed", "averaged", "seldom", "given", "others", "applied by one", "metrics", "DDP"],
)
def test_what_a_program_sends_itself_is_told_by_its_place(world: dict[str, Any], words: set[str]) -> None:
    text = told(program(**world))
    assert {one for one in (ONCE, SELDOM, DDP, UNKNOWN) if one in text} == words, text


@pytest.mark.parametrize(("every", "few"), [(1, False), (4, True)])
def test_what_comes_in_few_steps_is_told_with_how_much_in_each(every: int, few: bool) -> None:
    finding = judged(RULE, program(behind="all_reduce", every=every)).finding
    assert ("Most of it comes in 2 of 8 steps, 6.0 ms in each of these." in finding.why) is few
    assert ("in each step" in finding.fix[1].note, "in 2 of 8 steps" in finding.fix[1].note) == (not few, few)
