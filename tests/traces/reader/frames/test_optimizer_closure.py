"""`optimizer.step(closure)`, as Lightning and LBFGS call it: what the closure computes is not the update."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import AUTOGRAD, MAIN, TraceBuilder
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

NODE = "autograd::engine::evaluate_function: AddmmBackward0"


def world(*, closure: bool, thread: int = MAIN, node: str = NODE, ranged: bool = False) -> TraceBuilder:
    """Three steps of 1000 us: forward to 300, backward to 800, six parameters of three ops each to 980, from 1000 the next."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 1_000)
        builder.optimizer(at + (5 if closure else 810), 985 if closure else 180)
        builder.zero_grad(at + 10, 20)
        builder.op("aten::linear", at + 100, 200)
        if ranged:
            builder.annotation("[pl][profile][Strategy]SingleDeviceStrategy.backward", at + 310, 495)
        for index in range(5):
            builder.op(node, at + 320 + index * 96, 96, thread=thread)
        for index in range(6):
            for part, name in enumerate(("aten::lerp_", "aten::mul_", "aten::addcdiv_")):
                builder.op(name, at + 815 + index * 28 + part * 9, 8)
    return builder


def updates(trace: Trace) -> list[list[int]]:
    rows = trace.annotations[trace.annotations["kind"] == "optimizer_step"]
    return (rows[["start_ns", "end_ns", "dur_ns"]] // 1_000).to_numpy().tolist()


@pytest.mark.parametrize("thread", [MAIN, AUTOGRAD])
@pytest.mark.parametrize("node", [NODE, "torch::autograd::AccumulateGrad", "MulBackward0", "AddmmBackward"])
def test_the_update_begins_where_the_backward_pass_ends(thread: int, node: str) -> None:
    trace = world(closure=True, thread=thread, node=node).trace()
    assert updates(trace) == [[800, 990, 190], [1_800, 1_990, 190], [2_800, 2_990, 190]]
    assert trace.annotations["start_ns"].is_monotonic_increasing


def test_a_range_around_the_backward_pass_ends_before_the_update() -> None:
    trace = world(closure=True, ranged=True).trace()
    assert updates(trace)[0] == [805, 990, 185]
    assert Facts(trace).model.optimizing.parameters == 6


def test_a_step_without_closure_stays_as_recorded() -> None:
    assert updates(world(closure=False).trace())[0] == [810, 990, 180]


def test_a_backward_pass_of_another_process_is_no_closure() -> None:
    builder = world(closure=False)
    builder.event(NODE, "cpu_op", 850, 50, pid=77, tid=77)
    assert updates(builder.trace())[0] == [810, 990, 180]


def test_a_node_that_outlasts_the_step_leaves_nothing_negative() -> None:
    builder = world(closure=False)
    builder.op(NODE, 900, 500, thread=AUTOGRAD)
    assert updates(builder.trace())[0] == [990, 990, 0]


def test_the_model_inside_a_closure_is_the_model() -> None:
    plain, inside = Facts(world(closure=False).trace()), Facts(world(closure=True).trace())
    assert inside.time.waterfall.owned("compute").total_ns == plain.time.waterfall.owned("compute").total_ns
    assert inside.model.optimizing.parameters == plain.model.optimizing.parameters == 6
    assert inside.model.optimizing.ops_per_parameter == 3
    assert inside.health.sparse_host_events is None, "the training thread does work beside the update"


@pytest.mark.parametrize("name", ["aten::mm", "Backward", "optimizer backward pass", "aten::_softmax_backward_data"])
def test_what_is_no_node(name: str) -> None:
    assert not is_backward_node(name)
