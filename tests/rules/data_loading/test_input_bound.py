"""DL001: a loop whose device waits 40 ms of each 100 ms step inside DataLoader.__next__."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.data_loading.input_bound import RULE
from running.one_rule import judged, run


def world(
    *,
    wait: float = 40_000,
    steps: int = 3,
    device: str | None = "cuda",
    busy_while_loading: bool = False,
    handed_ns: int | None = None,
) -> TraceBuilder:
    """Steps of 100 ms: load, then one launch whose kernel fills the rest."""
    builder = TraceBuilder(device, advisor={"hand_over": {"lower_quartile_ns": handed_ns}} if handed_ns else None)
    for number in range(steps):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, wait)
        if device is None:
            builder.op("aten::linear", at + wait, 100_000 - wait)
        elif busy_while_loading:
            builder.launch(at + wait, kernel_start=at + wait + 10, kernel_dur=99_000)
        else:
            builder.launch(at + wait, kernel_start=at + wait + 10, kernel_dur=100_000 - wait - 10)
    return builder


def test_fires_with_the_idle_time_as_bound() -> None:
    found = judged(RULE, world())
    # 40 ms inside the loader; the device is idle for all of it.
    assert found.ns_per_step == 40_000_000
    assert found.ratio == pytest.approx(0.4)
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert found.finding.steps_seen == 3
    assert found.finding.why == (
        "The GPU waits 40 ms of each 100 ms step (40 %) for the DataLoader: "
        "`enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__`."
    )


@pytest.mark.parametrize(("handed_ns", "slow"), [(5_000_000, False), (50_000_000, True)])
def test_what_comes_no_sooner_from_a_worker_is_no_high_finding(handed_ns: int, slow: bool) -> None:
    """All of the wait goes only where a batch costs nothing, and workers are not advised."""
    found = judged(RULE, world(handed_ns=handed_ns))
    assert found.severity is (Severity.MEDIUM if slow else Severity.HIGH)
    assert found.confidence is (Confidence.MEDIUM if slow else Confidence.HIGH)
    assert ("if a batch cost nothing" in found.finding.saving.basis) is slow
    assert any("num_workers" in one.code for one in found.finding.fix) is not slow


def test_quiet_when_the_device_works_meanwhile() -> None:
    result = run(RULE, world(busy_while_loading=True, steps=6))
    assert result.state is State.CLEAR


def test_quiet_when_the_gap_has_another_cause() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, 1_000)
        builder.op("aten::item", at + 1_000, 40_000)
        builder.runtime("cudaStreamSynchronize", at + 1_000, 40_000)
        builder.launch(at + 41_000, kernel_start=at + 41_010, kernel_dur=58_000)
    assert run(RULE, builder).state is State.CLEAR


@pytest.mark.parametrize(("wait", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary(wait: float, state: State) -> None:
    assert run(RULE, world(wait=wait)).state is state


def test_the_threshold_can_be_set() -> None:
    assert run(RULE, world(wait=40_000), limits={"min_ratio": 0.5}).state is State.CLEAR


def test_not_applicable_without_a_loader() -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.step(number, number * 1_000, 1_000)
        builder.launch(number * 1_000 + 10, kernel_start=number * 1_000 + 20, kernel_dur=900)
    result = run(RULE, builder)
    assert result.state is State.NOT_APPLICABLE
    assert "PY001" in result.reason


def test_on_a_cpu_only_trace_the_loader_counts_as_a_share_of_the_step() -> None:
    assert judged(RULE, world(device=None)).ratio == pytest.approx(0.4)


def test_two_steps_cannot_be_high() -> None:
    found = judged(RULE, world(steps=2))
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.LOW)


@pytest.mark.parametrize("cores", [2, 16])
def test_advice_respects_the_cores(cores: int) -> None:
    builder = world()
    builder.top["advisor"] = {"usable_cores": cores}
    first = judged(RULE, builder).finding.fix[0]
    assert ("num_workers=8" in first.code) is (cores == 16)
    assert ("randperm" in first.code) is (cores == 2)
