"""CO011: four SyncBatchNorm layers a step, each with a collective of 500 us forward and one backward."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import AUTOGRAD, TraceBuilder
from rules.communication.synchronised_norms import RULE
from running.one_rule import judged, run

ALL_GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def world(*, name: str = "SyncBatchNorm", dur: float = 500, beside: bool = False) -> TraceBuilder:
    """Three steps of 20 ms: 10 ms of compute, and the collectives after it or beside it."""
    builder = TraceBuilder()
    node = f"autograd::engine::evaluate_function: {name}Backward"
    for number in range(3):
        at = number * 20_000.0
        builder.step(number, at, 20_000)
        builder.launch(at, kernel_start=at + 100, kernel_dur=10_000)
        for place in range(8):
            thread = AUTOGRAD if place >= 4 else None
            where = {} if thread is None else {"thread": thread}
            when = at + 200 + place * 100
            builder.op(node if place >= 4 else name, when, 60, **where)
            builder.event("nccl:all_gather", "user_annotation", when + 10, 30, **({"tid": thread} if thread else {}))
            start = at + (200 if beside else 10_200) + place * (dur + 100)
            builder.launch(when + 15, kernel_start=start, kernel_dur=dur, name=ALL_GATHER, stream=20, op=None, **where)
    return builder


def test_fires_with_the_exposed_time_of_its_collectives():
    found = judged(RULE, world())
    assert found.ns_per_step == 8 * 500_000
    assert found.finding.why.startswith("4 SyncBatchNorm layers a step wait for 8 collectives, 4.0 ms a step (20 %)")


@pytest.mark.parametrize(("dur", "state"), [(124, State.CLEAR), (126, State.FIRED)])
def test_boundary(dur, state):
    assert run(RULE, world(dur=dur)).state is state


@pytest.mark.parametrize(
    ("arguments", "state"), [({"name": "OtherNorm"}, State.NOT_APPLICABLE), ({"beside": True}, State.CLEAR)]
)
def test_quiet(arguments, state):
    assert run(RULE, world(**arguments)).state is state
