"""Which findings claim the same time, of which cause: as if every moment were looked at by itself."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.cause_names import CAUSES
from analyzer.engine.what_if import Pieces
from analyzer.facts.time.waterfall import Waterfall
from analyzer.spans.intervals import IntervalSet

MOMENTS = 40
# What a set, or a cause, holds of the first moments of a trace.
HELD = st.sets(st.integers(0, MOMENTS - 1))


def held(moments: set[int]) -> IntervalSet:
    return IntervalSet.of([(one, one + 1) for one in moments])


# A busy machine takes a second for what takes a millisecond.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(HELD, max_size=5),
    st.lists(st.sampled_from([*CAUSES, None]), min_size=MOMENTS, max_size=MOMENTS),
    # All of it at once, or in stretches down to one interval each.
    st.sampled_from([1, 5, 1000]),
)
def test_each_moment_counts_once_by_the_sets_that_hold_it_and_its_cause(
    sets: list[set[int]], causes: list[str | None], at_once: int
) -> None:
    owners = {cause: held({at for at in range(MOMENTS) if causes[at] == cause}) for cause in CAUSES}
    pieces = Pieces(Waterfall(owners, IntervalSet.of([(0, MOMENTS)])), at_once)
    found = list(pieces.of(list(map(held, sets))))
    holding = [(tuple(n for n, one in enumerate(sets) if at in one), causes[at]) for at in range(MOMENTS)]
    assert {(by, cause): ns for by, cause, ns in found} == Counter(one for one in holding if one[0])
    # Equal runs write equal documents: those that only later sets hold come first.
    assert found == sorted(found, key=lambda one: ([n in one[0] for n in range(5)], [*CAUSES, None].index(one[1])))


def test_more_sets_than_an_integer_has_bits() -> None:
    sets = [held({0, number + 1}) for number in range(70)]
    found = list(Pieces(Waterfall({}, IntervalSet())).of(sets))
    assert (tuple(range(70)), None, 1) in found
    assert len(found) == 71
