"""PG002 where graphs are being captured: what is launched meanwhile runs nothing, and nothing of it was lost."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity
from building.builders import TraceBuilder


def world(*, captured: int, launched: int, begun: bool = True) -> Facts:
    """Launches between the beginning of a stream's capture and its end, and others, of which each has its kernel."""
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 20)
    if begun:
        builder.runtime("cudaStreamBeginCapture_v10000", 30, 5)
    at = 40.0
    for _ in range(captured):
        builder.op("aten::mm", at, 9)
        builder.runtime("cudaLaunchKernel", at + 2, 4)
        at += 10
    builder.runtime("cudaStreamEndCapture_v10000", at, 5)
    for _ in range(launched):
        at += 50
        builder.launch(at, kernel_start=at + 12, kernel_dur=30)
    return Facts(builder.trace())


@pytest.mark.parametrize(("launched", "gravity"), [(5, Gravity.UNUSABLE), (200, Gravity.CAUTION), (2_000, None)])
def test_many_captured_launches_are_a_start_not_lost_work(launched: int, gravity: Gravity | None) -> None:
    symptoms = world(captured=100, launched=launched).health.symptoms
    found = [one for one in symptoms if "captured into graphs" in one.message]
    assert [one.gravity for one in found] == ([] if gravity is None else [gravity])
    assert [one.code for one in symptoms if one.code == "PG005"] == []


def test_without_a_capture_they_are_lost() -> None:
    symptoms = world(captured=100, launched=5, begun=False).health.symptoms
    assert any(one.code == "PG005" and "have no kernel" in one.message for one in symptoms)
    assert not any("captured into graphs" in one.message for one in symptoms)


@pytest.mark.parametrize("ranks", [1, 3])
def test_of_merged_ranks_only_that_is_said(ranks: int) -> None:
    builder = TraceBuilder()
    for rank in range(ranks):
        for number in range(40):
            builder.launch(number * 100 + 5, kernel_start=number * 100 + 20, kernel_dur=90, op="aten::mm")
            for event in builder.events[-3:]:
                event["pid"] = f"[TP{rank:02}] {event['pid']}"
    codes = {one.code for one in Facts(builder.trace()).health.symptoms if one.gravity >= Gravity.CAUTION}
    assert codes == ({"PG001"} if ranks == 1 else {"PG007"})


@pytest.mark.parametrize(("compiling", "said"), [(80_000, True), (20_000, False)])
def test_a_first_request_that_compiles_is_said_to(compiling: float, said: bool) -> None:
    builder = TraceBuilder()
    at = 0.0
    for number in range(6):
        long = 90_000 if number == 0 else 0
        builder.annotation("request", at, 10_000 + long)
        if long:
            builder.python("triton/compiler/compiler.py(200): compile", at, compiling)
        builder.launch(at + long + 20, kernel_start=at + long + 60, kernel_dur=9_000)
        at += 10_000 + long
    (odd,) = [one.message for one in Facts(builder.trace()).health.symptoms if one.code == "PG006"]
    assert ("is compiling." in odd) is said


@pytest.mark.parametrize(("whole", "gravity"), [(2, Gravity.UNUSABLE), (4, Gravity.CAUTION)])
def test_where_next_to_no_step_kept_its_kernels_nothing_is_advised(whole: int, gravity: Gravity) -> None:
    builder = TraceBuilder()
    for number in range(12):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        for index in range(10):
            if number < whole:
                builder.launch(at + 900 * index, kernel_start=at + 900 * index + 20, kernel_dur=800)
            else:
                builder.runtime("cudaLaunchKernel", at + 900 * index, 5)
    spoilt = [one for one in Facts(builder.trace()).health.symptoms if "is left out: lost kernels" in one.message]
    assert [one.gravity for one in spoilt] == [gravity]
