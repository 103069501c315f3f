"""What stands outermost on the training thread: nothing that is inside something else, and nothing of another thread."""

from __future__ import annotations

from analyzer.facts import Facts
from building.builders import TraceBuilder


def test_only_what_nothing_is_around_counts_in_the_order_of_time() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000)
    builder.annotation("Optimizer.step#SGD.step", 500, 200)
    builder.annotation("my own range", 250, 200)
    for name, start, dur in (("add_", 510, 50), ("linear", 100, 100), ("addmm", 110, 50), ("relu", 300, 100)):
        builder.op(f"aten::{name}", start, dur)
    builder.op("aten::mul", 0, 90, thread=7)
    found = Facts(builder.trace()).host.outermost
    # A range of the program's own hides nothing: what is inside says more.
    assert [found.names[code] for code in found.code.tolist()] == [
        "aten::linear",
        "aten::relu",
        "Optimizer.step#SGD.step",
    ]
    assert found.start_ns.tolist() == [100_000, 300_000, 500_000]
    assert (found.end_ns - found.start_ns).tolist() == [100_000, 100_000, 200_000]
    assert len(found) == 3


def test_a_trace_without_ops_has_none() -> None:
    builder = TraceBuilder()
    builder.kernel("k", 0, 100)
    assert len(Facts(builder.trace()).host.outermost) == 0
