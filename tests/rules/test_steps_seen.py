"""In how many steps a cause is seen: one definition for all rules, whatever they count in them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analyzer.facts import Facts
from analyzer.rule import Rule
from analyzer.spans.intervals import IntervalSet
from building.builders import TraceBuilder
from rules.data_loading.input_bound import RULE as INPUT
from rules.data_loading.single_process_loader import RULE as SINGLE
from rules.kernels.small_grid import RULE as GRID
from rules.sync.scalar_read import RULE as READ
from rules.transfer.pageable_copies import RULE as PAGEABLE
from running.one_rule import judged


def loading(builder: TraceBuilder, at: float, dur: float) -> None:
    builder.loader(at, dur)


def reading(builder: TraceBuilder, at: float, dur: float) -> None:
    builder.op("aten::item", at, dur)
    builder.op("aten::_local_scalar_dense", at, dur)
    builder.copy("DtoH", at, dur, start=at + dur - 2, dur=1, size=4)


def copying(builder: TraceBuilder, at: float, dur: float) -> None:
    builder.copy("HtoD", at, dur, start=at + dur / 2, dur=dur / 2, size=4_000_000, pinned=False)


def small_kernel(builder: TraceBuilder, at: float, dur: float) -> None:
    builder.launch(at, kernel_start=at + 5, kernel_dur=dur - 5, name="small", **{"blocks per SM": 0.1})


@pytest.mark.parametrize(("last", "seen"), [(60_000, 3), (3_000, 3), (100, 2)])
@pytest.mark.parametrize(
    ("rule", "cause"),
    [(INPUT, loading), (SINGLE, loading), (READ, reading), (PAGEABLE, copying), (GRID, small_kernel)],
    ids=lambda value: value.meta.code if isinstance(value, Rule) else "",
)
def test_a_hundredth_of_what_the_fullest_step_holds_does_not_make_a_step_one_of_them(
    rule: Rule, cause: Callable[[TraceBuilder, float, float], None], last: float, seen: int
) -> None:
    builder = TraceBuilder()
    for number, dur in enumerate((60_000, 60_000, last)):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        cause(builder, at + 10, dur)
        end = at + 10 + dur
        builder.launch(end + 1, kernel_start=end + 10, kernel_dur=at + 100_000 - end - 10, **{"blocks per SM": 8.0})
    assert judged(rule, builder).finding.steps_seen == seen


def test_moments_of_the_host_are_counted_where_the_host_is_and_time_where_the_device_is() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 1_000.0
        builder.step(number, at, 1_000)
        # The device gets to each step 800 us after the host.
        builder.launch(at + 10, kernel_start=at + 800, kernel_dur=1_000)
    found = Facts(builder.trace()).steps
    used = found.used
    moments = used["host_start_ns"].to_numpy()
    assert found.count_of_host(moments) == found.count == len(used)
    assert found.count_of_host(moments[:0]) == 0
    assert found.count_with(found.window) == found.count
    assert found.count_with(IntervalSet.of([])) == 0
    first = int(used["start_ns"].iloc[0])
    assert found.count_with(IntervalSet.of([(first, first + 1)])) == 1
