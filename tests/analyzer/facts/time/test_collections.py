"""Passes of the garbage collector, wherever they come over a thread: time of Python's own, not of what they interrupt."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import AUTOGRAD, TraceBuilder
from rules.data_loading.single_process_loader import RULE as SINGLE_PROCESS
from rules.idle.isolated_gaps import RULE as GAPS
from rules.python.gc_pauses import RULE
from running.one_rule import judged, run
from traces.trace import Capability

STEP = 10_000
PASS = 40_000


def world(
    device: str | None, *, marked: bool = True, category: str = "cpu_op", thread: int | None = None
) -> TraceBuilder:
    """Eight steps that load for 1 ms each; the fourth one's batch holds a collection of 40 ms as well."""
    builder = TraceBuilder(device, advisor={"gc_recorded": True} if marked else None)
    at = 0.0
    for number in range(8):
        pause = PASS if number == 3 else 0
        builder.step(number, at, STEP + pause).loader(at, 1_000 + pause)
        if pause and marked:
            more = {} if thread is None else {"tid": thread}
            builder.event("Python GC", category, at + 500, pause, **more)
        at += 1_000 + pause
        if device is None:
            builder.op("aten::linear", at, STEP - 1_000)
        else:
            builder.launch(at, kernel_start=at, kernel_dur=STEP - 1_000)
        at += STEP - 1_000
    return builder


@pytest.mark.parametrize("category", ["cpu_op", "python_function"])
def test_a_pass_is_neither_an_op_nor_a_call(category: str) -> None:
    trace = world(None, category=category).trace()
    assert trace.gc["dur_ns"].tolist() == [PASS * 1_000]
    assert "Python GC" not in set(trace.ops["name"])
    assert not len(trace.python)
    assert Capability.STACKS not in trace.capabilities


@pytest.mark.parametrize("device", ["cuda", None])
def test_it_is_not_loading(device: str | None) -> None:
    facts = Facts(world(device).trace())
    assert facts.time.waterfall.owned("python").total_ns == PASS * 1_000
    assert facts.time.waterfall.owned("input").total_ns == pytest.approx(8 * 1_000_000, rel=0.01)
    assert facts.input.wait.host.total_ns == 8 * 1_000_000
    assert facts.input.wait.calls["dur_ns"].tolist() == [1_000_000] * 8
    assert judged(SINGLE_PROCESS, world(device)).ns_per_step <= 1_000_000
    assert judged(RULE, world(device)).ns_per_step == PASS * 1_000 / 8


def test_nor_is_it_while_nobody_marked_it() -> None:
    assert Facts(world("cuda", marked=False).trace()).input.wait.host.total_ns == (8 * 1_000 + PASS) * 1_000


def test_one_on_another_thread_does_not_stop_the_loader() -> None:
    facts = Facts(world(None, thread=AUTOGRAD).trace())
    assert facts.input.wait.host.total_ns == (8 * 1_000 + PASS) * 1_000


def test_while_compiling_it_is_part_of_that() -> None:
    builder = world("cuda")
    builder.annotation("compile_inner (dynamo_timed)", 3 * STEP + 400, PASS + 200)
    facts = Facts(builder.trace())
    assert facts.time.waterfall.owned("python").total_ns == 0


def silent(*, recorded: bool) -> TraceBuilder:
    """Ten steps of 20 ms; in the fifth nothing runs for 60 ms."""
    builder = TraceBuilder(None, advisor={"gc_recorded": True} if recorded else None)
    at = 0
    for number in range(10):
        pause = 60_000 if number == 4 else 0
        builder.step(number, at, 20_000 + pause)
        builder.op("aten::linear", at, 10_000)
        builder.op("aten::linear", at + 10_000 + pause, 10_000)
        at += 20_000 + pause
    return builder


def test_silence_is_no_collection_where_all_are_marked() -> None:
    assert run(RULE, silent(recorded=True)).state is State.CLEAR
    assert "recorded garbage collections take 0 %" in run(RULE, silent(recorded=True)).reason
    assert run(GAPS, silent(recorded=True)).state is State.FIRED
