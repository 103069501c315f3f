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


def world(each_us: int, kind: str) -> TraceBuilder:
    """Three steps of 6 ms, two thirds of each in products that last so long."""
    known = {"usable_cores": 4, "threads": {"intra_op": 1}, "cpu_features": ["amx_bf16"]}
    builder = TraceBuilder(None, advisor=known)
    for number in range(3):
        at = number * 6_000
        builder.step(number, at, 6_000)
        for product in range(4_000 // each_us):
            shapes = {"Input Dims": [[8, 64], [64, 8]], "Input type": [kind, kind]}
            builder.op("aten::mm", at + product * each_us, each_us, **shapes)
    return builder


@pytest.mark.parametrize(("rule", "kind"), [(THREADS, "float"), (FAST_PATH, "float"), (DOUBLE, "double")])
def test_only_calls_that_last_are_arithmetic(rule: Rule, kind: str) -> None:
    assert run(rule, world(4, kind)).state is State.CLEAR
    assert run(rule, world(9, kind)).state is State.CLEAR
    assert run(rule, world(10, kind)).state is State.FIRED
