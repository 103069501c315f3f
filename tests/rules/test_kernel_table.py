"""The table of kernels that rules show: what they do, instances of one template together."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder
from rules.evidence import kernel_table

ADD = "void at::native::vectorized_elementwise_kernel<{}, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)"


def test_instances_of_a_template_are_one_row_named_by_what_they_do() -> None:
    builder = TraceBuilder().step(0, 0, 10_000)
    for at, name, length in ((100, ADD.format(4), 1_000), (1_200, "sgemm_nn", 1_500), (3_000, ADD.format(8), 600)):
        builder.launch(at, kernel_start=at, kernel_dur=length, name=name, op="aten::add")
    facts = Facts(builder.trace())
    table = kernel_table(facts, ~facts.kernels.named.is_family("none"), "longest")
    assert [row[:2] for row in table.rows] == [("elementwise add<float>", 2), ("sgemm_nn", 1)]
    assert table.rows[0][2] == pytest.approx(1_600_000)


def test_a_row_counts_every_instance_of_its_template_not_those_among_the_longest_alone() -> None:
    """Ten instances of 100 us are a millisecond together, though six other kernels are longer than each of them."""
    builder = TraceBuilder().step(0, 0, 10_000)
    at = 0.0
    others = [(f"kernel_{number}", 150 + number) for number in range(6)]
    for name, length in (*((ADD.format(number), 100) for number in range(1, 11)), *others):
        at += 300
        builder.launch(at, kernel_start=at, kernel_dur=length, name=name, op="aten::add")
    facts = Facts(builder.trace())
    table = kernel_table(facts, ~facts.kernels.named.is_family("none"), "longest")
    assert table.rows[0] == ("elementwise add<float>", 10, pytest.approx(1_000_000))
    assert [row[0] for row in table.rows[1:]] == ["kernel_5", "kernel_4", "kernel_3", "kernel_2"]
