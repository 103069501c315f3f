"""How many steps are enough."""

import pytest

from traces.collect.recorder.window import LEAST_STEPS, LONG_NS, MOST_STEPS, window_of
from traces.collect.trace_advisor_hook.phases.phases import Phases


@pytest.mark.parametrize(
    ("active", "step_ns", "steps"),
    [
        (None, 1_000_000, MOST_STEPS),
        (None, LONG_NS, LEAST_STEPS),
        (None, LONG_NS // 10, 10),
        (3, LONG_NS, 3),
        (50, 1_000_000, 50),
    ],
)
def test_as_many_steps_as_are_short(active: int | None, step_ns: int, steps: int) -> None:
    phases = Phases({"wait": 0} | window_of(active).settings())
    phases.most = phases.room()
    while not phases.full():
        phases.profiled.append(step_ns)
    assert len(phases.profiled) == steps
