"""One step of 100 ms: linear calls addmm, which launches 3 ms; mm launches 1 ms on its own; backward runs on its own thread."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.views.concerns import Concern
from analyzer.views.operators import Operators
from building.builders import AUTOGRAD, TraceBuilder


def world(steps: int = 2) -> TraceBuilder:
    builder = TraceBuilder()
    for number in range(steps):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.op("aten::linear", at + 100, 1_000, **{"Input Dims": [[8, 4]], "Sequence number": number})
        builder.launch(
            at + 200,
            kernel_start=at + 2_000,
            kernel_dur=3_000,
            name="ampere_sgemm_32x32",
            op="aten::addmm",
            call_dur=100,
        )
        builder.launch(
            at + 1_500, kernel_start=at + 6_000, kernel_dur=1_000, name="tiny<4>", op="aten::mm", call_dur=50
        )
        builder.op("LinearBackward0", at + 10_000, 500, thread=AUTOGRAD, **{"Sequence number": number})
        builder.launch(
            at + 10_100, kernel_start=at + 11_000, kernel_dur=2_000, op="aten::mm", call_dur=50, thread=AUTOGRAD
        )
        builder.python("nn.Module: Linear_0", at + 50, 1_200)
    return builder


@pytest.fixture
def operators() -> Operators:
    return Operators(Facts(world().trace()), lambda name: name.startswith("ampere") or None)


def named(operators: Operators, group: str, name: str):
    (row,) = [row for row in operators.rows(group) if row.name == name]
    return row


def test_own_and_total_times_are_means_per_step(operators):
    linear = named(operators, "op", "aten::linear")
    assert (linear.calls, linear.host_ns, linear.self_host_ns) == (1, 1_000_000, 900_000)
    assert (linear.self_device_ns, linear.device_ns) == (0, 3_000_000)
    assert linear.tensor_core_ratio == 1
    mm = named(operators, "op", "aten::mm")
    assert (mm.calls, mm.device_ns, mm.tensor_core_ratio) == (2, 3_000_000, None)
    assert mm.share == pytest.approx(0.5)
    assert [row.name for row in operators.rows("op")][:2] == ["aten::addmm", "aten::mm"]


def test_shares_add_up_in_every_group(operators):
    for group in ("op", "shape", "kernel"):
        assert sum(row.share for row in operators.rows(group)) == pytest.approx(1)


def test_shapes_divide_an_op(operators):
    assert named(operators, "shape", "aten::linear").shape == "[[8, 4]]"
    assert operators.has_shapes


def test_kernels_have_device_time_only(operators):
    row = named(operators, "kernel", "ampere_sgemm_32x32")
    assert (row.device_ns, row.calls, row.host_ns, row.self_host_ns) == (3_000_000, 1, None, None)


def test_a_module_owns_the_backward_pass_of_its_ops(operators):
    row = named(operators, "module", "Linear_0")
    assert (row.calls, row.host_ns, row.device_ns) == (1, 1_700_000, 5_000_000)


def test_callers_callees_and_examples(operators):
    detail = operators.detail("op", named(operators, "op", "aten::addmm"))
    assert [(one.name, one.device_ns) for one in detail.callers] == [("aten::linear", 3_000_000)]
    detail = operators.detail("op", named(operators, "op", "aten::linear"))
    assert [one.name for one in detail.callees] == ["aten::addmm"]
    assert [(one.step, one.start_ns, one.detail) for one in detail.examples] == [
        (0, 100_000, "[[8, 4]]"),
        (1, 100_000, "[[8, 4]]"),
    ]
    detail = operators.detail("kernel", named(operators, "kernel", "tiny<4>"))
    assert [one.name for one in detail.callers] == ["aten::mm"]
    assert detail.examples[0].detail == "stream 7"


def test_recursion_counts_once():
    builder = TraceBuilder().step(0, 0, 1_000)
    builder.op("aten::to", 0, 100)
    builder.op("aten::to", 10, 50)
    (row,) = Operators(Facts(builder.trace())).rows("op")
    assert (row.calls, row.host_ns, row.self_host_ns) == (2, 100_000, 100_000)


@pytest.mark.parametrize("device", ["cuda", None])
def test_an_empty_trace_has_no_rows(device):
    operators = Operators(Facts(TraceBuilder(device).step(0, 0, 1_000).trace()))
    assert [operators.rows(group) for group in ("op", "shape", "kernel", "module")] == [(), (), (), ()]
    assert not operators.has_shapes


MS = 1_000_000
# When the kernels of addmm run, and the time of the backward op on the host.
PRODUCTS = IntervalSet.of([(2 * MS, 5 * MS), (102 * MS, 105 * MS)])
BACKWARD = IntervalSet.of([(10 * MS, 11 * MS), (110 * MS, 111 * MS)])


def test_a_row_names_the_findings_that_concern_half_of_its_time() -> None:
    operators = Operators(
        Facts(world().trace()), concerns={"XX001": Concern(BACKWARD, EMPTY), "XX002": Concern(EMPTY, PRODUCTS)}
    )
    assert named(operators, "op", "LinearBackward0").findings == ("XX001",)
    assert named(operators, "op", "aten::addmm").findings == ("XX002",)
    assert named(operators, "kernel", "ampere_sgemm_32x32").findings == ("XX002",)
    # Its kernels are of others, its own time on the host is before theirs.
    assert named(operators, "op", "aten::linear").findings == ()
    assert named(operators, "kernel", "tiny<4>").findings == ()


def test_what_runs_beside_shorter_kernels_is_not_concerned() -> None:
    builder = world()
    for at in (0, 100_000):
        builder.copy("HtoD", at + 1_900, 50, start=at + 2_500, dur=1_000, stream=9)
    operators = Operators(Facts(builder.trace()), concerns={"XX002": Concern(EMPTY, PRODUCTS)})
    (copy,) = [row for row in operators.rows("kernel") if "HtoD" in row.name]
    assert copy.findings == ()
    (product,) = [row for row in operators.rows("kernel") if row.name == "ampere_sgemm_32x32"]
    assert product.findings == ("XX002",)


def test_without_a_device_ops_are_what_gets_shorter() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000)
    builder.op("aten::mm", 100, 200)
    builder.op("aten::add", 400, 200)
    shorter = IntervalSet.of([(100_000, 300_000)])
    operators = Operators(Facts(builder.trace()), concerns={"XX002": Concern(EMPTY, shorter)})
    assert named(operators, "op", "aten::mm").findings == ("XX002",)
    assert named(operators, "op", "aten::add").findings == ()
