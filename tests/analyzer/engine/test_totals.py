"""What savings give together: without a device ops lie in several causes, and what makes ops shorter reaches all of them."""

from __future__ import annotations

import pytest

from analyzer.engine.totals import saved_ns
from analyzer.facts import Facts
from analyzer.finding import Figure, Saving
from analyzer.spans.intervals import IntervalSet
from building.builders import TraceBuilder


@pytest.mark.parametrize("cause", ["optimizer", "compute"])
def test_shorter_ops_count_in_whatever_cause_they_lie(cause: str) -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        if cause == "optimizer":
            builder.optimizer(at, 9_900)
        builder.op("aten::mm", at + 10, 9_800)
    assert saved_ns(Facts(builder.trace()), [Saving(kernel_ns=12_000_000)]) == 12_000_000


@pytest.mark.parametrize(("kind", "counted_ns"), [(Figure.BOUND, 9_000_000), (Figure.ESTIMATE, 3_000_000)])
def test_of_an_estimate_what_usually_comes_true_counts(kind: Figure, counted_ns: int) -> None:
    facts = Facts(_idle().trace())
    claims, usual = IntervalSet([0], [9_000_000]), IntervalSet([0], [3_000_000])
    assert saved_ns(facts, [Saving(claims, usual_claims=usual, kind=kind)]) == counted_ns
    assert saved_ns(facts, [Saving(claims, usual_claims=usual, kind=kind)], usual=True) == 3_000_000


def test_nothing_saves_more_than_all_steps() -> None:
    facts = Facts(_idle().trace())
    assert saved_ns(facts, [Saving(IntervalSet([0], [10**12]))]) == facts.steps.total_ns


def _idle() -> TraceBuilder:
    """Three steps of 10 ms, in which the device computes for 1 ms."""
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 10_000, 10_000)
        builder.launch(number * 10_000, kernel_start=number * 10_000 + 10, kernel_dur=1_000)
    return builder


def test_on_a_device_only_computing_gets_shorter_by_shorter_kernels() -> None:
    assert saved_ns(Facts(_idle().trace()), [Saving(kernel_ns=12_000_000)]) == 3_000_000
