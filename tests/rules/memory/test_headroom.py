"""ME005: 10 of 85 GB are used while all kernels leave multiprocessors empty."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from programs.memory import GB, world
from rules.memory.headroom import RULE
from running.one_rule import judged, run


def small(peak: int, *, blocks: float = 0.25, **more: object) -> TraceBuilder:
    builder = world([peak] * 3, **more)  # type: ignore[arg-type]
    for event in builder.events:
        if event["cat"] == "kernel":
            event["args"]["blocks per SM"] = blocks
    return builder


def test_fires_without_a_saving_in_time() -> None:
    found = judged(RULE, small(10 * GB))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "runs small kernels for 100 % of its busy time" in found.finding.why


def test_quiet_where_the_device_is_filled() -> None:
    assert run(RULE, small(10 * GB, blocks=8.0)).state is State.CLEAR


def test_a_persistent_grid_fills_the_device() -> None:
    assert run(RULE, small(10 * GB, blocks=108 / 132)).state is State.CLEAR


@pytest.mark.parametrize(("peak", "state"), [(42 * GB, State.FIRED), (43 * GB, State.CLEAR)])
def test_boundary_of_memory(peak: int, state: State) -> None:
    assert run(RULE, small(peak)).state is state


@pytest.mark.parametrize(("limit", "state"), [(0.99, State.FIRED), (1.01, State.CLEAR)])
def test_boundary_of_small_kernels(limit: float, state: State) -> None:
    assert run(RULE, small(10 * GB), {"min_small_ratio": limit}).state is state


def test_cannot_tell_without_totals_or_capacity() -> None:
    assert run(RULE, small(GB, totals=False)).state is State.CANNOT_TELL
    assert run(RULE, small(GB, device={})).state is State.CANNOT_TELL


def test_the_batch_size_is_named_where_it_was_recorded() -> None:
    builder = small(10 * GB)
    builder.top["advisor"] = {"batch_size": 32}
    assert "+batch_size = 64" in judged(RULE, builder).finding.fix[0].code
