"""Short ops that stand still again and again tell of a lack of a core; what one op or one step does is the program's own."""

from __future__ import annotations

import pytest

from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity
from analyzer.finding import Severity
from building.builders import TraceBuilder

STEP = 40_000
OPS = ("aten::add", "aten::mul", "aten::relu", "aten::sum")
# In which step which short op stands still.
EVERYWHERE = {number: OPS[number % len(OPS)] for number in range(8)}
ONE_OP = dict.fromkeys(range(8), "aten::add")


def world(
    still: dict[int, str], by: float = 5_000, *, asked: float | None = None, large: tuple[int, ...] = ()
) -> TraceBuilder:
    """Eight steps of twenty rounds of four short ops and a long one; in the fifth round the op that `still` names takes longer."""
    builder = TraceBuilder(None, advisor={} if asked is None else {"core_wait_ratio": asked})
    at = 0.0
    for number in range(8):
        times = 20 if number in large else 1
        begin = at
        for turn in range(20):
            for name in OPS:
                took = 100 * times + (by if turn == 5 and still.get(number) == name else 0)
                builder.op(name, at, took)
                at += took + 1
            builder.op("aten::linear", at, 1_000 * times)
            at += 1_000 * times + 1
        builder.step(number, begin, at - begin)
    return builder


def lacked(builder: TraceBuilder) -> float | None:
    found = Facts(builder.trace()).time.lacked_core
    return None if found is None else found.ratio


def test_ops_that_stand_still_in_each_step() -> None:
    facts = Facts(world(EVERYWHERE).trace())
    # 8 x 5 ms beside 8 x 80 x 100 us.
    assert facts.time.lacked_core is not None
    assert facts.time.lacked_core.ratio == pytest.approx(40 / 104)
    assert (facts.time.lacked_core.ops, facts.time.lacked_core.steps) == (8, 8)
    assert facts.steps.ratio(facts.time.without_core_ns) == pytest.approx(40 / 104, rel=0.01)
    (symptom,) = [one for one in facts.health.symptoms if "no core" in one.message]
    assert symptom.gravity is Gravity.CAUTION
    assert "8 short ops take milliseconds in 8 steps" in symptom.message
    assert symptom.fix is not None
    assert "advisor collect" in symptom.fix


@pytest.mark.parametrize(
    "builder",
    [
        world({}),
        world(ONE_OP),
        world({3: "aten::add"}, 50_000),
        world({3: "aten::add", 5: "aten::mul"}, 20_000),
        world(EVERYWHERE, 1_500),
        world({}, large=(1, 4, 6)),
    ],
    ids=["quiet", "one op", "one step", "two steps", "shorter than a slice", "other sizes"],
)
def test_what_is_the_programs_own(builder: TraceBuilder) -> None:
    assert lacked(builder) is None


def test_the_system_knows_better() -> None:
    facts = Facts(world(EVERYWHERE, asked=0.0).trace())
    assert facts.time.lacked_core is None
    assert facts.time.without_core_ns == 0


@pytest.mark.parametrize(("asked", "cap"), [(0.4, Severity.HIGH), (0.6, Severity.MEDIUM)])
def test_of_steps_that_are_mostly_others_nothing_is_high(asked: float, cap: Severity) -> None:
    trust = grade(Facts(world({}, asked=asked).trace()))
    assert trust.severity_cap is cap
    assert ("lacked a core for 60 %" in trust.cap_reason) is (cap is Severity.MEDIUM)
    assert trust.mostly_taken is (cap is Severity.MEDIUM)


def test_as_short_ops_show_it() -> None:
    trust = grade(Facts(world(EVERYWHERE, 20_000).trace()))
    assert trust.severity_cap is Severity.MEDIUM
