"""Products that are over in microseconds gain nothing from other units, more threads or narrower numbers; long ones do."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from analyzer.rule import Rule
from building.builders import TraceBuilder
from rules.cpu.double_on_cpu import RULE as DOUBLE
from rules.cpu.no_cpu_fast_path import RULE as FAST_PATH
from rules.cpu.wrong_thread_count import RULE as THREADS
from running.one_rule import run


def world(each_us: int, kind: str, *, stalled_us: int = 0) -> TraceBuilder:
    """Three steps of 6 ms, two thirds of each in products that last so long, every fourth with a stall."""
    known = {"usable_cores": 4, "threads": {"intra_op": 1}, "cpu_features": ["amx_bf16"]}
    builder = TraceBuilder(None, advisor=known)
    for number in range(3):
        at = number * 6_000
        builder.step(number, at, 6_000)
        end, calls = at + 4_000, 0
        while at < end:
            shapes = {"Input Dims": [[64, 64], [64, 64]], "Input type": [kind, kind]}
            lasting, calls = each_us + (stalled_us if calls % 4 == 0 else 0), calls + 1
            builder.op("aten::mm", at, lasting, **shapes)
            at += lasting
    return builder


@pytest.mark.parametrize(("rule", "kind"), [(THREADS, "float"), (FAST_PATH, "float"), (DOUBLE, "double")])
def test_only_calls_that_last_are_arithmetic(rule: Rule, kind: str) -> None:
    assert run(rule, world(4, kind)).state is State.CLEAR
    assert run(rule, world(9, kind)).state is State.CLEAR
    assert run(rule, world(10, kind)).state is State.FIRED


def test_a_brief_call_that_others_held_up_is_a_brief_call() -> None:
    assert run(THREADS, world(4, "float", stalled_us=40)).state is State.CLEAR
    assert run(THREADS, world(20, "float", stalled_us=40)).state is State.FIRED
