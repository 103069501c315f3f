"""What savings give together: without a device ops lie in several causes, and what makes ops shorter reaches all of them."""

from __future__ import annotations

import pytest

from analyzer.engine.totals import saved_ns
from analyzer.facts import Facts
from analyzer.finding import Saving
from builders import TraceBuilder


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


def test_on_a_device_only_computing_gets_shorter_by_shorter_kernels() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 10_000, 10_000)
        builder.launch(number * 10_000, kernel_start=number * 10_000 + 10, kernel_dur=1_000)
    assert saved_ns(Facts(builder.trace()), [Saving(kernel_ns=12_000_000)]) == 3_000_000
