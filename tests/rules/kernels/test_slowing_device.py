"""KE007: a clock that falls by a quarter while the device works."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.kernels.slowing_device import RULE
from running.one_rule import judged, run


def world(
    clocks: tuple[float, ...] = (1_980, 1_485), *, metric: bool = False, samples: int = 12, rising: bool = False
) -> TraceBuilder:
    """Steps of 1 ms, the device busy for 0.9 ms of each, with samples of its clock.

    Args:
        clocks: The first for a third of the samples, the last for the rest.
        metric: Whether metrics are recorded that lock the clock.
        samples: How many.
        rising: Whether the clock is low first, as after a pause.
    """
    builder = TraceBuilder()
    order = [clocks[0]] * (samples // 3) + [clocks[-1]] * (samples - samples // 3)
    order = order[::-1] if rising else order
    for number in range(4):
        at = number * 1_000
        builder.step(number, at, 1_000)
        builder.launch(at + 10, kernel_start=at + 50, kernel_dur=900)
        each = samples // 4
        for place in range(each):
            builder.counter("SM Clock (MHz)", at + 100 + 800 * place / each, order[number * each + place])
        if metric:
            builder.counter("SM Active (%)", at + 300, 80)
    return builder


def test_fires_with_the_share_by_which_the_clock_is_lower() -> None:
    found = judged(RULE, world())
    drop = 1 - (4 * 1_980 + 8 * 1_485) / 12 / 1_980
    assert found.finding.saving.kernel_ns == pytest.approx(drop * 4 * 900_000, rel=1e-3)
    assert "1,650 MHz in the mean, 17 % below the 1,980 MHz" in found.finding.why
    assert found.severity is not Severity.INFO


@pytest.mark.parametrize(("low", "state"), [(1_980 * 0.92, State.FIRED), (1_980 * 0.93, State.CLEAR)])
def test_boundary(low: float, state: State) -> None:
    assert run(RULE, world((1_980, low))).state is state


def test_a_clock_that_only_rises_after_a_pause_is_no_fault() -> None:
    assert run(RULE, world(rising=True, samples=48)).state is State.CLEAR


def test_few_samples_and_locked_clocks_tell_nothing() -> None:
    assert run(RULE, world(samples=4)).state is State.CANNOT_TELL
    assert run(RULE, world(metric=True)).state is State.CANNOT_TELL


def test_without_samples_it_cannot_tell() -> None:
    builder = world()
    builder.events = [event for event in builder.events if event["ph"] != "C"]
    result = run(RULE, builder)
    assert result.state is State.CANNOT_TELL
    assert "cupti-python" in result.reason
