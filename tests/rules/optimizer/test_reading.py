"""Values read inside an update: kept on the device first, before lists of tensors or another optimizer are advised."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.idle.launch_bound import RULE as LAUNCH_BOUND
from rules.optimizer.per_parameter_updates import RULE as ONE_BY_ONE
from rules.sync.scalar_read import RULE as READ
from running.one_rule import judged

ADD = "vectorized_elementwise_kernel<4, float>"


def world(optimizer: str, *, reads: int, outside: int = 0) -> Clocked:
    """Steps whose update goes through 40 parameters; the first so many are read from, and so many values behind the update."""
    builder = Clocked()
    for _ in builder.steps(4):
        for _ in range(20):
            builder.kernel_of("aten::linear/aten::addmm", "ampere_sgemm_128x64_tn", 20)
        begin = builder.now
        for parameter in range(40):
            for op in ("aten::mul_", "aten::add_", "aten::addcdiv_"):
                builder.kernel_of(op, ADD, 3)
            if parameter < reads:
                builder.read_value()
                builder.idle(40)
        builder.optimizer(begin, builder.now - begin, optimizer)
        for _ in range(outside):
            builder.read_value()
            builder.idle(60)
    return builder


@pytest.mark.parametrize(
    ("optimizer", "reads", "first"),
    [("Prodigy", 40, True), ("Prodigy", 2, False), ("Prodigy", 0, False), ("AdamW", 40, False)],
    ids=["each parameter", "each group", "none", "of torch"],
)
def test_reads_of_each_parameter_go_before_lists_of_tensors(optimizer: str, reads: int, *, first: bool) -> None:
    found = judged(ONE_BY_ONE, world(optimizer, reads=reads)).finding
    assert ("stays on the device" in found.fix[0].code) is first


@pytest.mark.parametrize(("reads", "another"), [(40, False), (2, True)])
def test_no_other_optimizer_is_advised_where_reads_are_what_holds_it_up(reads: int, *, another: bool) -> None:
    fix = judged(LAUNCH_BOUND, world("Prodigy", reads=reads)).finding.fix
    assert any("in place of `Prodigy`" in advice.code for advice in fix) is another


@pytest.mark.parametrize(("reads", "outside", "inside"), [(40, 0, True), (40, 50, False), (0, 50, False)])
def test_where_most_values_are_read_says_how_they_stay(reads: int, outside: int, *, inside: bool) -> None:
    fix = judged(READ, world("Prodigy", reads=reads, outside=outside)).finding.fix
    assert ("alpha=" in fix[0].code) is inside


@pytest.mark.parametrize(("optimizer", "told"), [("AdamW", True), ("Prodigy", False)])
def test_fused_is_an_argument_of_those_that_have_it(optimizer: str, *, told: bool) -> None:
    builder = Clocked()
    for _ in builder.steps(4):
        for _ in range(300):
            builder.kernel_of("aten::linear/aten::addmm", "ampere_sgemm_128x64_tn", 3)
        begin = builder.now
        for _ in range(8):
            for op in ("aten::mul_", "aten::add_", "aten::addcdiv_"):
                builder.kernel_of(op, ADD, 3)
        builder.optimizer(begin, builder.now - begin, optimizer)
    fix = judged(LAUNCH_BOUND, builder).finding.fix
    assert any("fused=True" in advice.code for advice in fix) is told
