"""Time of modules: forward by what encloses it, backward by autograd's numbers; each world has a step of 100 ms."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.hardware.modules import MOST_MODULES, modules
from analyzer.page import modules as page
from analyzer.report.drawing.flame import flame
from analyzer.report.html import render as html
from analyzer.report.text import render as text
from building.builders import AUTOGRAD, TraceBuilder
from programs.hardware import explained

NODE = "autograd::engine::evaluate_function: "


def op(
    builder: TraceBuilder,
    name: str,
    at: float,
    kernel: float,
    dur: float,
    *,
    number: int | None = None,
    thread: int | None = None,
) -> None:
    """An op of 100 us that launches a kernel of so many us."""
    where = {} if thread is None else {"thread": thread}
    numbered = {} if number is None else {"Sequence number": number}
    builder.op(name, at, 100, **where, **numbered)
    builder.launch(at + 10, kernel_start=kernel, kernel_dur=dur, call_dur=10, op=None, **where)


def world(*, prefix: str = "nn.Module: ", device: str | None = "cuda") -> TraceBuilder:
    """Two steps: a model calls two layers; an op of its own shares the number of the second layer's last op, which needed none."""
    builder = TraceBuilder(device)
    for step in range(2):
        at, number = step * 100_000.0, step * 10
        builder.step(step, at, 100_000)
        builder.optimizer(at + 90_000, 1_000)
        mark = builder.python if prefix else builder.annotation
        mark(f"{prefix}Model_0", at + 1_000, 10_000)
        mark(f"{prefix}Linear_0", at + 2_000, 1_000)
        mark(f"{prefix}Linear_1", at + 4_000, 2_000)
        op(builder, "aten::linear", at + 2_100, at + 10_000, 1_000, number=number)
        op(builder, "aten::linear", at + 4_100, at + 12_000, 2_000, number=number + 1)
        op(builder, "aten::detach", at + 5_000, at + 15_000, 100, number=number + 2)
        # In the model, outside its layers, the last with its number: this one left the node.
        op(builder, "aten::mul", at + 8_000, at + 16_000, 300, number=number + 2)
        for place, (name, its) in enumerate((("MulBackward0", 2), ("AddmmBackward0", 1), ("AddmmBackward0", 0))):
            begin = at + 30_000 + place * 1_000
            builder.op(NODE + name, begin, 500, thread=AUTOGRAD, **{"Sequence number": number + its})
            op(builder, "aten::mm", begin + 100, at + 40_000 + place * 5_000, 400.0 * (place + 1), thread=AUTOGRAD)
        # Gradients are added up without a number: whose they are is not known.
        builder.op(NODE + "torch::autograd::AccumulateGrad", at + 34_000, 500, thread=AUTOGRAD)
        op(builder, "aten::add_", at + 34_100, at + 60_000, 700, thread=AUTOGRAD)
    return builder


def measured(builder: TraceBuilder):
    found = Facts(builder.trace()).model.modules
    return {one.path: one for one in found.rows}, found


def test_forward_and_backward_go_to_the_module_whose_op_left_the_node():
    rows, found = measured(world())
    assert list(rows) == [("Model_0",), ("Model_0", "Linear_0"), ("Model_0", "Linear_1")]
    us = 2 * 1_000
    first, second, whole = rows["Model_0", "Linear_0"], rows["Model_0", "Linear_1"], rows[("Model_0",)]
    assert (first.calls, first.forward_ns, first.backward_ns) == (2, 1_000 * us, 500 * us)
    assert (first.forward_kernel_ns, first.backward_kernel_ns) == (1_000 * us, 1_200 * us)
    assert (second.forward_kernel_ns, second.backward_kernel_ns) == (2_100 * us, 800 * us)
    assert (whole.forward_ns, whole.backward_ns, whole.self_ns) == (10_000 * us, 1_500 * us, 7_500 * us)
    assert (whole.forward_kernel_ns, whole.backward_kernel_ns) == (3_400 * us, 2_400 * us)
    assert whole.self_kernel_ns == 700 * us
    assert found.other_kernel_ns == 700 * us


def test_ranges_of_the_author_stand_in_where_no_module_was_recorded():
    builder = world(prefix="")
    for step in range(2):
        # It holds no op that leaves a node.
        builder.annotation("backward", step * 100_000.0 + 29_000, 9_000)
    rows, found = measured(builder)
    assert found.source == "ranges"
    assert list(rows) == [("Model_0",), ("Model_0", "Linear_0"), ("Model_0", "Linear_1")]


@pytest.mark.parametrize("device", ["cuda", None])
def test_nothing_is_told_of_a_trace_without_either(device):
    builder = TraceBuilder(device).step(0, 0, 1_000)
    builder.op("aten::mm", 10, 20)
    rows, found = measured(builder)
    assert (rows, found.source, found.other_kernel_ns) == ({}, None, 0)


def test_what_is_computed_again_counts_as_the_backward_pass_of_its_module():
    builder = world()
    for step in range(2):
        at, number = step * 100_000.0, step * 10
        # Checkpointing calls the layer inside the node that the model's op left, on the thread of the backward pass.
        builder.op(
            NODE + "CheckpointFunctionBackward", at + 70_000, 5_000, thread=AUTOGRAD, **{"Sequence number": number + 2}
        )
        builder.python("nn.Module: Linear_0", at + 70_500, 2_000, thread=AUTOGRAD)
        op(builder, "aten::linear", at + 71_000, at + 80_000, 900, number=number + 5, thread=AUTOGRAD)
    rows, _ = measured(builder)
    us = 2 * 1_000
    assert len(rows) == 3
    layer, whole = rows["Model_0", "Linear_0"], rows[("Model_0",)]
    assert (layer.calls, layer.forward_ns, layer.backward_ns) == (2, 1_000 * us, 2_500 * us)
    assert layer.backward_kernel_ns == 2_100 * us
    # The node without the call in it is the model's own.
    assert whole.backward_ns == 6_500 * us


def test_steps_that_are_left_out_do_not_count():
    builder = world()
    builder.python("nn.Module: Model_0", 300_000, 10_000)
    rows, _ = measured(builder)
    assert rows[("Model_0",)].calls == 2


def test_of_very_many_the_document_keeps_the_longest_with_those_around_them():
    builder = TraceBuilder(None).step(0, 0, 10_000_000).step(1, 10_000_000, 1_000_000)
    builder.python("nn.Module: Model_0", 0, 9_000_000)
    builder.op("aten::mm", 1, 1)
    for number in range(MOST_MODULES + 50):
        builder.python(f"nn.Module: Layer_{number}", 10_000.0 + number * 10_000, 5_000 + number)
    told = modules(Facts(builder.trace()))
    kept = [one.path for one in told["modules"]]
    assert (len(kept), told["modules_left_out"]) == (MOST_MODULES, 51)
    assert kept[0] == ("Model_0",)
    assert ("Model_0", "Layer_0") not in kept
    assert ("Model_0", f"Layer_{MOST_MODULES + 49}") in kept


def test_every_display_draws_the_tree(tmp_path):
    found = explained(world(), tmp_path).analysis
    rows = page.rows(found)
    assert [(row.name, row.depth) for row in rows] == [("Model_0", 0), ("Linear_0", 1), ("Linear_1", 1)]
    assert [row.ratio for row in rows] == pytest.approx([1.0, 2_200 / 5_800, 2_900 / 5_800])
    written = text(found)
    assert "Modules by the time of their kernels" in written
    assert written.index("  Linear_0") < written.index("  Linear_1")
    drawn = flame(found)
    assert drawn is not None
    assert drawn.body.count('class="box"') == 3
    shown = html(found)
    assert 'id="flame"' in shown
    assert "Modules as a table" in shown


def test_no_time_is_a_dash(tmp_path):
    """Of a module that launches nothing, 0 ns in each column said as much and was read as measured."""
    builder = world()
    for step in range(2):
        builder.python("nn.Module: Idle_0", step * 100_000.0 + 1_500, 200)
    rows = {row.name: row for row in page.rows(explained(builder, tmp_path).analysis)}
    assert (rows["Idle_0"].forward, rows["Idle_0"].backward, rows["Idle_0"].own) == ("-", "-", "-")
    assert "-" not in (rows["Linear_0"].forward, rows["Linear_0"].backward, rows["Linear_0"].own)


def test_a_name_of_the_trace_is_no_markup(tmp_path):
    builder = world()
    for step in range(2):
        builder.python('nn.Module: "><script>x', step * 100_000.0 + 1_500, 200)
    shown = html(explained(builder, tmp_path).analysis)
    assert "<script>x" not in shown
