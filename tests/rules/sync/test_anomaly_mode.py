"""SY006: autograd's anomaly mode tests every gradient for NaN."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.sync.anomaly_mode import RULE
from rules.sync.scalar_read import RULE as SCALAR
from running.one_rule import judged, run

STEP = 10_000
NODES = 8


def world(*, checked: int = NODES, device: str | None = None, below: bool = False) -> TraceBuilder:
    """Steps of 10 ms whose backward pass has 8 nodes of 1 ms, the last 500 us of each the NaN check."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, 1_000)
        for index in range(NODES):
            start = at + 1_000 + index * 1_000
            builder.op("autograd::engine::evaluate_function: AddmmBackward0", start, 990)
            builder.op("AddmmBackward0", start + 1, 988 if below else 400)
            if device:
                builder.launch(start + 10, kernel_start=start + 20, kernel_dur=300, op="aten::mm")
            else:
                builder.op("aten::mm", start + 10, 300)
            if index < checked:
                builder.op("aten::isnan", start + 450, 100)
                builder.op("aten::_is_any_true", start + 550, 100)
                builder.op("aten::item", start + 650, 300)
                if device:
                    builder.copy(
                        "DtoH", start + 655, 10, start=start + 660, dur=2, size=1, op="aten::_local_scalar_dense"
                    )
                    builder.runtime("cudaStreamSynchronize", start + 670, 250)
    return builder


def test_fires_on_the_cpu_with_the_time_of_the_checks() -> None:
    found = judged(RULE, world())
    assert found.finding.saving.kernel_ns == 3 * NODES * 500_000
    assert found.confidence is Confidence.HIGH
    assert found.finding.why.startswith(
        "24 of 24 backward nodes test their gradients for NaN, which takes 4.0 ms of each 10 ms step"
    )


def test_fires_on_a_device_and_the_waits_are_not_claimed_twice() -> None:
    found = judged(RULE, world(device="cuda"))
    assert found.finding.saving.claims.total_ns > 0
    assert run(SCALAR, world(device="cuda")).state is State.NOT_APPLICABLE


def test_stacks_are_recorded_before_an_op_calls_the_next() -> None:
    builder = world()
    for number in range(3):
        at = number * STEP
        builder.op("aten::addmm", at + 9_000, 800, **{"Sequence number": 7})
        builder.op("aten::expand", at + 9_600, 100)
        builder.op("aten::detach", at + 9_850, 100, **{"Sequence number": 8})
        builder.op("AddmmBackward0", at + 1_001, 399, **{"Sequence number": 7})
    assert judged(RULE, builder).finding.saving.kernel_ns == 3 * (NODES * 500_000 + 600_000)


def test_quiet_where_the_users_own_op_tests_for_nan() -> None:
    # The test is inside the node's own function, not directly below the engine's node.
    assert run(RULE, world(below=True)).state is State.CLEAR


@pytest.mark.parametrize(("checked", "state"), [(3, State.CLEAR), (4, State.FIRED)])
def test_boundary(checked: int, state: State) -> None:
    assert run(RULE, world(checked=checked)).state is state


def test_not_applicable_without_a_backward_pass() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, STEP)
    builder.op("aten::isnan", 0, 100)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("tested", "state"), [(False, State.CLEAR), (True, State.CANNOT_TELL)])
def test_nodes_of_old_versions_are_a_backward_pass(tested: bool, state: State) -> None:
    """Torch 1.x may record `CudnnConvolutionBackward` without the engine's function around it."""
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * STEP, STEP)
        builder.op("CudnnConvolutionBackward", number * STEP + 100, 500)
        if tested:
            builder.op("aten::isnan", number * STEP + 700, 100)
    assert run(RULE, builder).state is state


def test_without_a_backward_pass_it_does_not_apply() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * STEP, STEP).op("aten::linear", number * STEP, 900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE
