"""DL003: two workers, and still 20 ms of each 100 ms step are spent waiting for a batch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from rules.data_loading.starved_by_workers import RULE
from running.one_rule import judged, run

STARVED = (20_000.0,) * 6


def world(
    waits: Sequence[float] = STARVED,
    *,
    workers: int = 2,
    advisor: dict[str, object] | None = None,
    step: float = 100_000,
) -> TraceBuilder:
    """Steps of equal length that wait as long as given, then compute."""
    builder = TraceBuilder(advisor=advisor)
    for number, wait in enumerate(waits):
        at = number * step
        builder.step(number, at, step).loader(at, wait, workers=workers)
        builder.launch(at + wait, kernel_start=at + wait + 10, kernel_dur=step - wait - 10)
    return builder


def test_of_the_first_wait_no_more_than_of_the_others() -> None:
    # 60 ms, of which the start of the workers may be a part, and five waits of 20 ms.
    found = judged(RULE, world((60_000, *STARVED[1:])))
    assert found.ns_per_step == pytest.approx(20_000_000, abs=2)
    assert found.finding.why == (
        "The GPU waits 20 ms (median) for a batch in 100 % of the steps although worker processes load: 20 % of the step."
    )


def test_a_loader_that_can_be_resumed_has_workers_too() -> None:
    builder = world()
    for event in builder.events:
        event["name"] = str(event["name"]).replace("#_Multi", "#_StatefulMulti")
    assert judged(RULE, builder).ns_per_step == judged(RULE, world()).ns_per_step


def test_states_what_a_batch_costs_where_the_workers_are_known() -> None:
    found = judged(RULE, world(advisor={"loader": {"num_workers": 2}, "usable_cores": 16}))
    assert "(2 workers)" in found.finding.why
    assert "200 ms of one core" in found.finding.why
    assert "num_workers=4" in found.finding.fix[0].code


def test_no_more_workers_where_no_core_is_left() -> None:
    found = judged(RULE, world(advisor={"loader": {"num_workers": 2}, "usable_cores": 2}))
    assert all("+    num_workers" not in item.code for item in found.finding.fix)


@pytest.mark.parametrize(("wait", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary_of_the_share(wait: float, state: State) -> None:
    assert run(RULE, world((wait,) * 6)).state is state


@pytest.mark.parametrize(("wait", "state"), [(900, State.CLEAR), (1_100, State.FIRED)])
def test_boundary_of_a_wait(wait: float, state: State) -> None:
    assert run(RULE, world((wait,) * 6, step=10_000)).state is state


def test_bursts_are_another_rule() -> None:
    waits = [100.0] * 12
    waits[5] = waits[9] = 80_000.0
    assert run(RULE, world(waits)).state is State.CLEAR


def test_not_applicable_without_workers() -> None:
    assert run(RULE, world(workers=0)).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("used", "words"),
    [
        ([0.95, 0.93], "uses 94 % of a core: the processor limits them"),
        ([0.05], "they wait, for storage or the network"),
        ([0.6], "and waits the rest of the time"),
    ],
)
def test_tells_what_limits_the_workers_where_that_was_sampled(used: list[float], words: str) -> None:
    found = judged(RULE, world(advisor={"samples": {"worker_cpu_ratio": used}}))
    assert words in found.finding.why
    assert found.finding.caveats == ()


@pytest.mark.parametrize(
    ("used", "first"),
    [([0.95], "decode_jpeg"), ([0.05], "rsync"), (None, "setNumThreads")],
    ids=["computing", "waiting", "unknown"],
)
def test_the_fix_follows_what_limits_the_workers(used: list[float] | None, first: str) -> None:
    # Both cores beside training are taken: more workers are no answer.
    builder = world(advisor={"usable_cores": 3, "loader": {"num_workers": 2}, "samples": {"worker_cpu_ratio": used}})
    codes = [fix.code for fix in judged(RULE, builder).finding.fix]
    assert first in codes[0]
    assert any("decode_jpeg" in code for code in codes) is (used != [0.05])


@pytest.mark.parametrize("used", [None, [], "busy", [True], [0.5, "x"], [-1.0]])
def test_believes_no_odd_sample(used: object) -> None:
    assert judged(RULE, world(advisor={"samples": {"worker_cpu_ratio": used}})).finding.caveats


@pytest.mark.parametrize(
    ("workers", "lacked", "state"), [(2, 0.8, State.CANNOT_TELL), (2, 0.05, State.FIRED), (12, 0.8, State.FIRED)]
)
def test_workers_whose_cores_others_had_say_nothing_of_storage(workers: int, lacked: float, state: State) -> None:
    samples = {"worker_cpu_ratio": [0.1, 0.1], "worker_core_wait_ratio": [lacked, lacked]}
    advisor = {"usable_cores": 8, "loader": {"num_workers": workers}, "samples": samples}
    answer = run(RULE, world(advisor=advisor))
    assert answer.state is state
    if state is State.FIRED and lacked > 0.5:  # more workers than cores: their own doing, and no storage's
        assert "storage" not in judged(RULE, world(advisor=advisor)).finding.why
