"""DL004: every fourth of twelve batches keeps training waiting for 50 ms, the others come at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from analyzer.finding import Confidence, Location, State, Table
from building.builders import TraceBuilder
from rules.data_loading.bursty_waits import RULE
from running.one_rule import judged, run


def world(
    late: Sequence[int] = (3, 7, 11),
    *,
    wait: float = 50_000,
    usual: float = 200,
    steps: int = 12,
    workers: int | None = None,
    processes: int = 4,
    lines: dict[str, Any] | None = None,
    device: str | None = "cuda",
    told: dict[str, Any] | None = None,
) -> TraceBuilder:
    """Steps of 100 ms; those named wait, the others hardly. Batches come from so many processes, or from the training thread."""
    known = {"loader": {"num_workers": workers}, "lines": lines} if workers is not None or lines else {}
    builder = TraceBuilder(device, advisor=known | (told or {}) or None)
    for number in range(steps):
        at = number * 100_000
        spent = wait if number in late else usual
        builder.step(number, at, 100_000).loader(at, spent, workers=processes)
        if device is None:
            builder.op("aten::linear", at + spent, 100_000 - spent)
        else:
            builder.launch(at + spent, kernel_start=at + spent + 10, kernel_dur=100_000 - spent - 10)
    return builder


def test_fires_with_the_waiting_beyond_a_usual_call() -> None:
    found = judged(RULE, world(workers=4))
    assert found.ns_per_step == pytest.approx(3 * 49_800_000 / 12, abs=2)
    assert found.confidence is Confidence.HIGH
    assert "3 batches of 12 come late, every 4 batches" in found.finding.why
    assert "prefetch_factor=8" in found.finding.fix[0].code


def test_irregular_bursts_point_at_samples() -> None:
    found = judged(RULE, world((2, 3, 9)))
    assert found.confidence is Confidence.MEDIUM
    assert "perf_counter" in found.finding.fix[0].code


def test_late_batches_name_the_line_that_samples_are_made_at() -> None:
    row = {"file": "data.py", "line": 14, "function": "Clips.__getitem__", "begins": 12, "text": "read(path)", "ns": 60}
    lines = {"workers": {"total_ns": 60, "loader_ns": 60, "rows": [{"loader": True, **row}]}}
    found = judged(RULE, world(lines=lines)).finding
    assert found.location == Location("data.py", 14, "Clips.__getitem__", 12)
    assert any(isinstance(one, Table) and one.rows[0][0] == "data.py:14" for one in found.evidence)
    assert judged(RULE, world()).finding.location is None


@pytest.mark.parametrize("processes", [0, 4])
def test_a_loader_without_workers_has_no_queue_to_deepen(processes: int) -> None:
    """It refuses `prefetch_factor` and `persistent_workers`."""
    found = judged(RULE, world(workers=processes, processes=processes, device=None, told={"usable_cores": 8})).finding
    codes = "\n".join(fix.code for fix in found.fix)
    assert ("prefetch_factor" in codes) is ("in_order" in codes) is bool(processes)
    assert ("num_workers=7" in codes) is not bool(processes)
    assert "waits for 12 % of the steps" in found.why  # no device idles


# 150 of 1,200 ms are 12.5 %; what is left of them has to be 5 % still.
@pytest.mark.parametrize(("lacked", "state"), [(0.07, State.FIRED), (0.08, State.CANNOT_TELL)])
def test_late_batches_of_a_thread_without_a_core_are_no_slow_samples(lacked: float, state: State) -> None:
    result = run(RULE, world(processes=0, device=None, told={"core_wait_ratio": lacked}))
    assert result.state is state
    assert state is State.FIRED or "the thread that makes them had no core for 8.0 %" in result.reason


@pytest.mark.parametrize(("lacked", "state"), [(0.2, State.FIRED), (0.4, State.CANNOT_TELL)])
def test_late_batches_of_workers_whose_cores_others_had_are_not_judged(lacked: float, state: State) -> None:
    told = {"usable_cores": 8, "samples": {"worker_cpu_ratio": [0.3], "worker_core_wait_ratio": [lacked]}}
    assert run(RULE, world(workers=4, told=told)).state is state


def test_quiet_when_every_batch_is_late() -> None:
    assert run(RULE, world(range(12))).state is State.CLEAR


@pytest.mark.parametrize(("usual", "state"), [(9_000, State.FIRED), (11_000, State.CLEAR)])
def test_boundary_of_the_spread(usual: float, state: State) -> None:
    # The median is the usual call; at most 2 of 12 calls are late, so the 95th percentile is theirs.
    result = run(RULE, world((3, 7), wait=50_000, usual=usual), limits={"min_top_ratio": 0.1})
    assert result.state is state


@pytest.mark.parametrize(("wait", "state"), [(28_000, State.CLEAR), (31_000, State.FIRED)])
def test_boundary_of_the_share(wait: float, state: State) -> None:
    assert run(RULE, world((3, 7), wait=wait, usual=10), limits={"min_top_ratio": 0.1}).state is state


def test_too_few_batches() -> None:
    result = run(RULE, world((2, 4), steps=6))
    assert result.state is State.CANNOT_TELL
    assert "active=10" in result.reason


def test_not_applicable_without_a_loader() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000).launch(10, kernel_start=20, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


def test_calls_that_all_begin_an_epoch_show_no_bursts() -> None:
    builder = TraceBuilder()
    for number in range(6):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.op("aten::empty", at + 10, 5)
        builder.op("aten::random_", at + 20, 5)
        builder.op("aten::item", at + 30, 5)
        builder.loader(at + 1_000, 50_000, workers=2)
        builder.launch(at + 51_000, kernel_start=at + 51_010, kernel_dur=40_000)
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert "6 calls of the loader, all at the end of an epoch" in result.reason
