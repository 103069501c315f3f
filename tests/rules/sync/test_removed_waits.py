"""SY001 and kin: at most what comes true where the wait goes, which is more than what the wait owns."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder
from rules.sync.scalar_read import RULE
from running.one_rule import judged

KERNELS = 20


def world(*, reads: bool = True, waits: float = 236, short: float | None = None, other: bool = False) -> TraceBuilder:
    """Steps of 20 kernels of 200 us: queued at once, or one after the other, as a value is read behind each.

    Args:
        reads: Whether values are read.
        waits: How long a read lasts: 236 us until its value is there, or less where it was there before.
        short: How long every second one lasts, where others last longer.
        other: Whether the program waits for the device itself after each read that is not short, too.
    """
    builder = TraceBuilder()
    length = KERNELS * (400.0 if reads else 200.0) + 100
    for number in range(5):
        at = number * length
        builder.step(number, at, length)
        for index in range(KERNELS):
            launch = at + index * (400 if reads else 5)
            start = launch + 10 if reads else at + 30 + index * 200
            builder.launch(launch, kernel_start=start, kernel_dur=200, name="gemm", call_dur=4)
            if not reads:
                continue
            lasts = waits if short is None or index % 2 == 0 else short
            begins = launch + 258 - lasts
            builder.op("aten::item", begins - 2, lasts + 4)
            builder.op("aten::_local_scalar_dense", begins - 1, lasts + 2)
            builder.copy("DtoH", begins, lasts, start=start + 201, dur=2, size=4, op=None)
            if other and lasts == waits:
                builder.runtime("cudaDeviceSynchronize", launch + 265, 5)
    return builder


def step_ns(builder: TraceBuilder) -> float:
    steps = Facts(builder.trace()).steps
    return steps.total_ns / steps.count


def test_what_comes_true_is_within_the_bound_and_beyond_what_is_likely() -> None:
    slow, fast = world(), world(reads=False)
    found = judged(RULE, slow)
    realised = step_ns(slow) - step_ns(fast)
    assert found.usual_ns_per_step < realised <= found.ns_per_step


@pytest.mark.parametrize("waits", [20, 60])
def test_no_more_than_the_reads_lasted(waits: float) -> None:
    """Each read finds its value nearly there: the host would be earlier by so much, not by the 190 us that the device idles."""
    assert judged(RULE, world(waits=waits)).ns_per_step == pytest.approx(KERNELS * waits * 1_000, rel=0.01)


def test_behind_a_wait_for_another_reason_the_device_idles_all_the_same() -> None:
    """The program synchronises 7 us after each read: idle time from there on is not the read's."""
    alone, followed = judged(RULE, world()), judged(RULE, world(other=True))
    # Of some 190 us behind each kernel those before the other call stay: from 211 to 265 us, but for the copy's two.
    assert followed.ns_per_step == pytest.approx(KERNELS * 53_000, rel=0.03)
    assert alone.ns_per_step > 3 * followed.ns_per_step


def test_what_a_read_waited_is_used_up_by_a_wait_for_another_reason() -> None:
    """Long reads with the other wait behind them, and between them short ones: those are no longer for the long ones' sake."""
    found = judged(RULE, world(short=20, other=True))
    assert found.ns_per_step == pytest.approx(KERNELS / 2 * (53_000 + 20_000), rel=0.03)
