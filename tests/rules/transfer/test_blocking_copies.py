"""XF007: a pinned batch is copied in each 100 ms step, and the host waits 10 ms for it."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from analyzer.rule import Rule
from building.builders import TraceBuilder
from rules.transfer.blocking_copies import RULE
from rules.transfer.pageable_copies import RULE as PAGEABLE
from running.one_rule import judged, run


def world(*, wait: float = 10_000, pinned: bool = True, waiting: bool = True) -> TraceBuilder:
    """Four steps: a kernel, the copy that waits for it, the synchronisation in the same op, 1 ms of dispatch, then a kernel."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.op("aten::copy_", at, 20 + wait)
        copied = at + 15 + wait
        builder.launch(at, kernel_start=at + 5, kernel_dur=wait - 490, op=None)
        builder.copy("HtoD", at + 5, 10, start=copied - 500, dur=500, size=8 << 20, pinned=pinned, op=None)
        if waiting:
            builder.runtime("cudaStreamSynchronize", at + 16, wait)
        begin = at + 20 + wait
        builder.op("aten::linear", begin, 1_000)
        builder.launch(begin + 990, kernel_start=begin + 1_000, kernel_dur=at + 100_000 - begin - 1_000)
    return builder


def test_fires_with_the_idle_time_the_wait_owns() -> None:
    found = judged(RULE, world())
    # The device is at work while the host waits: what is lost is what the host has to launch again, 1 ms, and some 20 us around it.
    assert 1_000_000 <= found.ns_per_step <= 1_100_000
    assert found.finding.why.startswith(
        "The host waits for 4 copies from pinned memory: 10 ms of each 100 ms step (10 %)."
    )
    assert "non_blocking=True" in found.finding.fix[0].code


@pytest.mark.parametrize("rule", [RULE, PAGEABLE])
def test_likely_is_what_the_host_launches_anew_behind_the_wait(rule: Rule) -> None:
    """Behind the wait the host dispatches an op for 1 ms; or it runs code of its own, which may be a wait as well."""
    likely = []
    for dispatches in (True, False):
        builder = world(pinned=rule is RULE)
        if not dispatches:
            builder.events = [one for one in builder.events if one["name"] != "aten::linear"]
        usual = judged(rule, builder).finding.saving.usual_claims
        assert usual is not None
        likely.append(usual.total_ns / 4)
    assert likely[0] - likely[1] == pytest.approx(1_000_000, rel=0.03)


def test_from_pageable_memory_the_wait_belongs_to_the_other_rule() -> None:
    assert run(RULE, world(pinned=False)).state is State.NOT_APPLICABLE
    found = judged(PAGEABLE, world(pinned=False))
    assert found.ns_per_step >= 1_000_000


def test_quiet_without_the_wait() -> None:
    assert run(RULE, world(waiting=False)).state is State.CLEAR


@pytest.mark.parametrize(("wait", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary(wait: float, state: State) -> None:
    assert run(RULE, world(wait=wait)).state is state


def test_not_applicable_without_a_device() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000).op("aten::linear", 0, 900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
