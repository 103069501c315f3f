"""When threads are inside ops, calls and launches: made of their rows when asked for, the same however large they are."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.facts.host import threads
from analyzer.spans.intervals import EMPTY, IntervalSet
from building.builders import TraceBuilder

BACKWARD = 7


def facts() -> Facts:
    builder = TraceBuilder("cuda")
    for at in range(0, 40_000, 10_000):
        builder.op("aten::mm", at, 3_000)
        builder.op("aten::add", at + 1_000, 1_000)
        builder.op("aten::mul", at + 5_000, 2_000, thread=BACKWARD)
        builder.launch(at + 500, kernel_start=at + 4_000, kernel_dur=1_000)
    builder.runtime("cudaDeviceSynchronize", 41_000, 5_000)
    return Facts(builder.trace())


@pytest.mark.parametrize("large", [0, threads._LARGE])
def test_each_thread_has_its_own_and_all_have_all(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_LARGE", large)
    made = facts()
    trace, host = made.trace, made.host.threads
    main, other = trace.ops["thread"].unique().tolist()
    for _ in range(2):
        for what, frame in (("ops", trace.ops), ("calls", trace.runtime)):
            assert host.anywhere(what) == IntervalSet.of_rows(frame)
        mine = trace.ops["thread"].to_numpy() == main
        assert host.during("ops", main) == IntervalSet.of_rows(trace.ops, mine)
        assert host.during("ops", other) == IntervalSet.of_rows(trace.ops, ~mine) != EMPTY
        launching = (trace.runtime["kind"] == "launch").to_numpy()
        assert (
            host.during("launch", main) == IntervalSet.of_rows(trace.runtime, launching) != host.during("calls", main)
        )
        assert host.during("launch", other) == host.during("ops", 99) == EMPTY
    assert bool(host._kept) == (large > 0)
