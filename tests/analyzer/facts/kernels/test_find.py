"""Kernels and their ops: through the launch; by External id only where ids can be trusted."""

from __future__ import annotations

from analyzer.facts import Facts
from building.builders import TraceBuilder


def op_of(builder: TraceBuilder) -> list[str | None]:
    facts = Facts(builder.trace())
    names = facts.trace.ops["name"].astype(str).to_numpy()
    return [None if row < 0 else str(names[row]) for row in facts.kernels.named.frame["op"].tolist()]


def test_the_op_around_the_launch() -> None:
    builder = TraceBuilder().step(0, 0, 1_000)
    builder.op("aten::linear", 0, 50)
    builder.launch(10, kernel_start=100, kernel_dur=10, op="aten::addmm")
    assert op_of(builder) == ["aten::addmm"]


def test_an_external_id_serves_where_the_launch_is_missing() -> None:
    builder = TraceBuilder().step(0, 0, 1_000)
    identity = builder.op("aten::mm", 0, 50)
    builder.kernel("k", 100, 10, correlation=9_000, **{"External id": identity})
    assert op_of(builder) == ["aten::mm"]


def test_external_ids_that_repeat_the_correlation_are_ignored() -> None:
    builder = TraceBuilder().step(0, 0, 1_000)
    identity = builder.op("aten::mm", 0, 50)
    builder.kernel("k", 100, 10, correlation=identity, **{"External id": identity})
    assert op_of(builder) == [None]


def test_only_kernels_of_the_used_steps_and_of_the_main_device_count() -> None:
    builder = TraceBuilder().step(0, 0, 1_000)
    builder.launch(10, kernel_start=100, kernel_dur=10)
    builder.launch(20, kernel_start=200, kernel_dur=10)
    builder.launch(30, kernel_start=300, kernel_dur=10, device=1)
    builder.launch(1_010, kernel_start=1_100, kernel_dur=10)
    assert Facts(builder.trace()).kernels.named.frame["start_ns"].tolist() == [100_000, 200_000]


def test_gains_shrink_with_idle_time_and_vanish_when_launch_bound() -> None:
    def world(lead: float) -> Facts:
        builder = TraceBuilder()
        for number in range(3):
            builder.step(number, number * 1_000, 1_000)
            builder.launch(number * 1_000, kernel_start=number * 1_000 + 5 + lead, kernel_dur=500)
        return Facts(builder.trace())

    queued, starved = world(200), world(3)
    assert not queued.time.launch_bound
    assert queued.time.kernel_gain_ns(100) == 50
    assert starved.time.launch_bound
    assert starved.time.kernel_gain_ns(100) == 0
