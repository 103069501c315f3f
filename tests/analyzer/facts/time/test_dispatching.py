"""What of the time inside ops is the way to them, where ops last next to nothing."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder


def ratio(*durations: float) -> float:
    """The share of a step of 1 ms with ops that last so long, in us, each of a name of its own."""
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * 1_000, 1_000)
        for index, dur in enumerate(durations):
            builder.op(f"aten::op{index}", number * 1_000 + 100 * index, dur)
    facts = Facts(builder.trace())
    return facts.time.dispatch_ratio(facts.steps.host_window)


@pytest.mark.parametrize(
    ("durations", "expected"),
    [((), 0.0), ((0.0, 0.0), 0.0), ((0.0, 5.0), 1.0), ((5.0, 95.0), 0.05)],
    ids=["no op", "none lasts", "one lasts", "short and long"],
)
def test_ops_that_last_nothing_are_none(durations: tuple[float, ...], expected: float) -> None:
    assert ratio(*durations) == pytest.approx(expected)


def test_an_op_recorded_inside_itself_counts_once() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * 1_000, 1_000)
        for index in range(10):
            for _ in range(2):
                builder.op("aten::add", number * 1_000 + 50 * index, 5)
    facts = Facts(builder.trace())
    assert facts.time.dispatch_ratio(facts.steps.host_window) == 1.0
