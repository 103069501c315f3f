"""Workers that are spawned again each epoch: what is late while they start is told by DL005, and as nothing else."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from analyzer.rule import Rule
from building.builders import TraceBuilder
from rules.data_loading.bursty_waits import RULE as BURSTS
from rules.data_loading.iterator_restart import RULE as RESTARTS
from rules.data_loading.starved_by_workers import RULE as STARVED
from rules.data_loading.too_few_cores import RULE as CORES
from running.one_rule import judged, run

EPOCH, EPOCHS = 12, 3


def world(
    *, spawned: bool, late: tuple[int, ...] = (), usual: float = 500, device: str | None = "cuda", workers: int = 2
) -> TraceBuilder:
    """Epochs of twelve steps of 100 ms, three of them whole.

    Args:
        spawned: Whether workers start at each epoch: the first call takes 60 ms then and the next one 40, as its worker imports.
        late: Calls of each epoch that take 70 ms.
        usual: What the other calls take, us.
        device: As of the builder.
        workers: Of the loader, on a machine of two cores.
    """
    builder = TraceBuilder(device, advisor={"loader": {"num_workers": workers}, "usable_cores": 2})
    for number in range(EPOCH * EPOCHS):
        at, turn = number * 100_000, number % EPOCH
        builder.step(number, at, 100_000)
        wait = 70_000 if turn in late else 40_000 if spawned and turn == 1 else usual
        begin = at
        if spawned and turn == 0:
            builder.loader(at, 2_000, workers=2)
            for name, after in (("empty", 2_100), ("random_", 2_110), ("item", 2_120)):
                builder.op(f"aten::{name}", at + after, 5)
            begin, wait = at + 5_000, 60_000
        builder.loader(begin, wait, workers=2)
        end = begin + wait
        if device is None:
            builder.op("aten::linear", end, at + 100_000 - end)
        else:
            builder.launch(end, kernel_start=end + 10, kernel_dur=at + 99_000 - end)
    return builder


@pytest.mark.parametrize("device", ["cuda", None])
@pytest.mark.parametrize("rule", [BURSTS, STARVED, CORES])
def test_what_is_late_while_workers_start_is_a_start_and_nothing_else(rule: Rule, device: str | None) -> None:
    builder = world(spawned=True, device=device)
    assert run(rule, builder).state is not State.FIRED
    found = judged(RESTARTS, builder)
    # 65 ms to the first batch and, beyond a usual call, 39.5 for the second.
    assert found.finding.saving.claims.total_ns == pytest.approx(3 * (65 + 39.5) * 1_000_000, rel=0.01)


@pytest.mark.parametrize("device", ["cuda", None])
def test_late_calls_are_a_burst_where_no_worker_is_started(device: str | None) -> None:
    builder = world(spawned=False, late=(1,), device=device)
    assert judged(BURSTS, builder).finding.why.startswith("3 batches of 36 come late, every 12 batches")
    assert run(RESTARTS, builder).state is not State.FIRED


def test_a_burst_when_the_queue_is_full_is_told_beside_the_starts() -> None:
    builder = world(spawned=True, late=(6,))
    assert judged(BURSTS, builder).finding.saving.claims.total_ns == pytest.approx(3 * 69_500_000, rel=0.01)
    assert judged(RESTARTS, builder).finding.saving.claims.total_ns == pytest.approx(3 * 104_500_000, rel=0.01)


@pytest.mark.parametrize("rule", [STARVED, CORES])
def test_workers_that_never_keep_up_are_told_beside_their_starts_and_without_them(rule: Rule) -> None:
    """20 ms in each usual call: of the starts not more than of a usual epoch without any."""
    starts, none = (judged(rule, world(spawned=spawned, usual=55_000)) for spawned in (True, False))
    # The first call of an epoch, and those that fill the queue, are the start's.
    assert starts.ns_per_step < none.ns_per_step
    assert starts.ns_per_step > none.ns_per_step * 0.3


def test_workers_that_keep_up_do_not_leave_room_for_more_of_them() -> None:
    """One worker beside training is all that two cores hold."""
    assert "the workers keep up" in run(CORES, world(spawned=False, late=(1, 4), workers=1)).reason
