"""Waiting calls: whose they are and what they own."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import AUTOGRAD, TraceBuilder


def world() -> TraceBuilder:
    """One step of 1 ms in which the device idles from 400 us on, and a sync of 100 us from 300 us on."""
    builder = TraceBuilder()
    builder.step(0, 0, 1_000)
    builder.launch(0, kernel_start=10, kernel_dur=390)
    builder.runtime("cudaStreamSynchronize", 300, 100)
    builder.op("aten::relu", 400, 500)
    builder.launch(895, kernel_start=905, kernel_dur=50, op=None)
    return builder


def test_a_call_owns_never_more_than_it_lasted() -> None:
    facts = Facts(world().trace())
    assert facts.time.waterfall.owned("sync").total_ns == 100_000
    assert facts.sync.waits.owned("explicit").total_ns == 100_000
    assert facts.sync.waits.calls["idle_ns"].tolist() == [100_000]


def test_two_calls_never_own_the_same_nanosecond() -> None:
    builder = world()
    builder.op("aten::item", 450, 200)
    builder.runtime("cudaStreamSynchronize", 450, 200)
    facts = Facts(builder.trace())
    explicit, scalar = facts.sync.waits.owned("explicit"), facts.sync.waits.owned("scalar")
    # The first call owns what lies between it and the second one.
    assert explicit.total_ns == 50_000
    assert scalar.total_ns > 0
    assert not (explicit & scalar)


def test_waiting_for_a_copy_to_the_device_is_nobody_elses() -> None:
    builder = world()
    builder.op("aten::copy_", 100, 100)
    builder.copy("HtoD", 110, 20, start=150, dur=5, op=None)
    builder.runtime("cudaStreamSynchronize", 140, 30)
    facts = Facts(builder.trace())
    assert sorted(facts.sync.waits.calls["reason"]) == ["copy_in", "explicit"]


def test_the_profilers_own_is_set_aside() -> None:
    builder = world()
    builder.runtime("cudaDeviceSynchronize", 960, 30)
    assert "profiler" in set(Facts(builder.trace()).sync.waits.calls["reason"])


def test_a_call_inside_another_is_no_wait_of_its_own() -> None:
    builder = world()
    builder.runtime("cuStreamSynchronize", 310, 80)
    found = Facts(builder.trace()).sync.waits
    assert found.calls["name"].tolist() == ["cudaStreamSynchronize"]
    assert found.owned("explicit").total_ns == 100_000, "the whole of what the outer one owns"


@pytest.mark.parametrize(("start", "waits"), [(310, 1), (350, 2)])
def test_a_wait_that_another_thread_does_for_it_is_one(start: float, waits: int) -> None:
    """MTIA's runtime waits on a thread of its own, under the number of the call that asks for it; 80 us long."""
    builder = world()
    asked = next(one for one in builder.events if one["name"] == "cudaStreamSynchronize")
    builder.runtime("cudaStreamSynchronize", start, 80, thread=AUTOGRAD, correlation=asked["args"]["correlation"])
    assert Facts(builder.trace()).sync.waits.of("explicit").waits == waits
