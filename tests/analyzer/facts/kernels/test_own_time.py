"""Own time of ops: what an optimizer does inside one is not its own."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder, as_read


@pytest.mark.parametrize("inside", [True, False])
def test_what_an_optimizer_does_between_its_ops_is_no_op_s_around_it(inside: bool) -> None:
    """In a hook of a gradient; an op beside the optimizer's span keeps what it takes."""
    builder = TraceBuilder(None)
    for step in range(4):
        at = step * 100_000
        builder.step(step, at, 100_000)
        builder.op("torch::autograd::AccumulateGrad", at, 50_000)
        start = at + (5_000 if inside else 60_000)
        builder.optimizer(start, 30_000)
        builder.op("aten::addcdiv_", start + 10_000, 10_000)
    longest = Facts(as_read(builder.content())).kernels.longest_op
    assert longest is not None
    assert (longest.name, longest.ns) == ("torch::autograd::AccumulateGrad", 4 * (20_000_000 if inside else 50_000_000))
