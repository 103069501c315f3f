"""OP001: what an optimizer's step does before its first op is no update; Horovod's waits there for reduced gradients."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.optimizer.per_parameter_updates import RULE
from running.one_rule import judged
from stories.models import ADD, AMPERE


def world(*, before: float, between: float) -> TraceBuilder:
    """Four steps: 60 ms of products, then `before` us in the optimizer without an op, then 160 updates, `between` us apart."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(60):
            world.kernel_of("aten::mm", AMPERE, 1_000)
        world.synchronize("cudaStreamSynchronize")
        begin = world.now
        world.idle(before)
        for _ in range(160):
            for op in ("aten::mul_", "aten::add_", "aten::add_"):
                world.kernel_of(op, ADD, 4, host=8)
            world.idle(between)
        world.optimizer(begin, world.now - begin, "SGD")
    return world


@pytest.mark.parametrize(("before", "between", "likely_ms"), [(20_000, 0, 4), (0, 125, 24)])
def test_the_wait_before_the_first_update_is_not_the_updates(before: float, between: float, likely_ms: float) -> None:
    found = judged(RULE, world(before=before, between=between))
    assert found.ns_per_step == pytest.approx(likely_ms * 1e6, rel=0.3)
    assert (found.severity is Severity.HIGH) is (likely_ms > 10)
