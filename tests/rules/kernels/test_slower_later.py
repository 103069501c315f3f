"""KE008: nine steps of 20 kernels; the device takes longer for the same kernels later."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from rules.kernels.slower_later import RULE
from running.one_rule import judged, run

WARMING = (1.0, 1.0, 1.0, 1.05, 1.1, 1.15, 1.2, 1.2, 1.2)


def world(
    *,
    factors: Sequence[float] = WARMING,
    slower: int = 20,
    clocks: bool = False,
    grows: bool = False,
    device: str = "cuda",
) -> TraceBuilder:
    """Steps of 3 ms.

    Args:
        factors: How much longer than 100 us each kernel takes, by step.
        slower: How many of the 20 kernels of a step that is true of.
        clocks: Whether the clock was sampled.
        grows: Whether later steps launch more blocks: their work grows.
        device: Kind of device.
    """
    builder = TraceBuilder(device)
    for number, factor in enumerate(factors):
        at = number * 3_000.0
        builder.step(number, at, 3_000)
        for place in range(20):
            dur = 100 * (factor if place < slower else 1.0)
            blocks = {"blocks per SM": 4.0 + (number if grows else 0)}
            when = at + place * 10
            builder.launch(when, kernel_start=at + 50 + place * 140, kernel_dur=dur, call_dur=5, **blocks)
        if clocks:
            builder.counter("SM Clock (MHz)", at + 100, 1_980 / factor)
    return builder


def test_fires_with_what_later_steps_take_longer():
    found = judged(RULE, world())
    # 20 kernels of 100 us: 2 ms a step at first; 0.05, 0.1, 0.15 and three times 0.2 of it are lost.
    assert found.finding.saving.kernel_ns == pytest.approx(2_000_000 * 0.9, rel=1e-6)
    assert (
        "take 20 % longer in the last third of 9 equal steps than in the first, 2.4 ms instead of 2.0 ms a step."
        in found.finding.why
    )


@pytest.mark.parametrize(("device", "tool"), [("cuda", "nvidia-smi"), ("rocm", "rocm-smi")])
def test_the_device_is_asked_with_its_own_tool(device, tool):
    assert judged(RULE, world(device=device)).finding.fix[0].code.startswith(tool)


def test_the_clock_is_named_where_it_was_sampled():
    assert "1,980 MHz at first and 1,650 MHz at last" in judged(RULE, world(clocks=True)).finding.why


@pytest.mark.parametrize(("ratio", "state"), [(0.049, State.CLEAR), (0.051, State.FIRED)])
def test_boundary(ratio, state):
    assert run(RULE, world(factors=(1.0,) * 6 + (1 + ratio,) * 3)).state is state


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        # As slow at first as at last.
        ({"factors": (1.2, 1.0, 1.0, 1.0, 1.0, 1.0, 1.2, 1.2, 1.2)}, State.CLEAR),
        # A few kernels only: a cache that fills, not the device.
        ({"slower": 12, "factors": (1.0,) * 6 + (1.3,) * 3}, State.CLEAR),
        ({"factors": (1.0, 1.0, 1.0, 1.2, 1.2)}, State.CANNOT_TELL),
        ({"grows": True}, State.CANNOT_TELL),
        ({"factors": (1.0,) * 9}, State.CLEAR),
    ],
)
def test_quiet(arguments, state):
    assert run(RULE, world(**arguments)).state is state
