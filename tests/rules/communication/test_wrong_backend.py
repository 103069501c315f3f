"""CO006: gloo moves gradients through host memory for 10 ms of each step while the GPU idles."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import AUTOGRAD, TraceBuilder
from rules.communication.wrong_backend import RULE
from rules.python.python_overhead import RULE as PYTHON
from running.one_rule import judged, run

GLOO, SEARCH = "gloo:all_reduce", "torch.distributed.ddp.reducer::search_unused_parameters"


def world(*, name: str = GLOO, dur: float = 10_000, busy: bool = False, thread: int = AUTOGRAD) -> TraceBuilder:
    """Three steps of 100 ms: the range in question, then a kernel that fills the rest (with `busy`, all of the step)."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        if dur:
            builder.annotation(name, at, dur, thread=thread)
        builder.launch(at + dur, kernel_start=at + dur + 10, kernel_dur=100_000 - dur - 10)
        if busy:
            builder.kernel("busy", at, 99_000)
    return builder


@pytest.mark.parametrize(("name", "title"), [(GLOO, "gloo"), (SEARCH, "DDP")])
def test_fires_with_the_idle_time(name: str, title: str) -> None:
    found = judged(RULE, world(name=name))
    assert found.ns_per_step == 10_000_000
    assert str(found.finding.title).startswith(title)


def test_gloo_beside_a_busy_device_costs_nothing() -> None:
    assert run(RULE, world(busy=True)).state is State.CLEAR


@pytest.mark.parametrize(("dur", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary(dur: float, state: State) -> None:
    assert run(RULE, world(dur=dur)).state is state


def test_not_applicable_with_nccl_or_without_a_device() -> None:
    assert run(RULE, world(name="nccl:all_reduce")).state is State.NOT_APPLICABLE
    builder = TraceBuilder(None).step(0, 0, 100)
    builder.annotation(GLOO, 0, 50)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


def test_python_leaves_alone_what_the_search_owns() -> None:
    """The search has no op: to the rule on host code outside ops it would be that program's own."""
    assert run(PYTHON, world(name=SEARCH)).state is State.CLEAR
    assert run(PYTHON, world(name="my_range")).state is State.FIRED
