"""SY003: of a server's workers each waits for its own answer, and the device's next work comes from whoever has a request."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.builders import MAIN, TraceBuilder
from rules.sync.explicit_synchronize import RULE
from running.one_rule import run

_PASS = 2_000


def server(
    threads: int, *, op: str = "aten::cat", marks: bool = False, early: float = 0, named: str = ""
) -> TraceBuilder:
    """Passes in turn on some threads: 900 us on the host, four kernels of 250 us, and a wait for them.

    Args:
        threads: How many.
        op: What the host does in front of the launches, on all threads but the first.
        marks: Whether the passes are marked as steps.
        named: What a range around each pass is called, from one to the next of its thread.
        early: For how long the next thread has launched a first kernel before the wait ends.
    """
    builder = TraceBuilder()
    for number in range(20 * threads):
        at, thread = number * _PASS + 1_000, MAIN + number % threads
        if marks:
            builder.step(number, at, _PASS - 10)
        if named:
            builder.annotation(named, at - 5, threads * _PASS - 20, thread=thread)
        builder.op("aten::cat" if thread == MAIN else op, at, 900, thread=thread)
        if early:
            builder.launch(at - early, kernel_start=at, kernel_dur=10, thread=thread)
        for kernel in range(4):
            builder.launch(at + 900 + kernel * 10, kernel_start=at + 910 + kernel * 250, kernel_dur=250, thread=thread)
        builder.runtime("cudaStreamSynchronize", at + 950, 965, thread=thread)
    return builder


def test_what_another_worker_ends_is_no_waits_fault() -> None:
    assert run(RULE, server(1)).state is State.FIRED
    assert run(RULE, server(4)).state is State.CLEAR
    assert run(RULE, server(2, early=100)).state is State.CLEAR


def test_requests_of_one_worker_are_no_steps_of_the_others() -> None:
    assert run(RULE, server(1, named="handle_request")).state is State.FIRED
    assert run(RULE, server(4, named="handle_request")).state is State.CLEAR


@pytest.mark.parametrize(
    "built",
    [server(2, marks=True), server(2, op="autograd::engine::evaluate_function: MmBackward0")],
    ids=["steps of one program", "the engine of autograd"],
)
def test_threads_of_one_program_wait_for_each_other(built: TraceBuilder) -> None:
    assert run(RULE, built).state is State.FIRED
