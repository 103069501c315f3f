"""KE006: a layer that is computed again in the backward pass is told, and no fault."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from programs.hardware import MATRIX
from rules.kernels.recomputed_activations import RULE
from running.one_rule import judged, run

SIZES = {"Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16"] * 2}


def world(kind: str = "checkpoint", *, again: float = 400) -> TraceBuilder:
    """Steps of 3 ms: a layer and its gradient; `checkpoint` computes the layer again inside the gradient's node.

    Args:
        kind: `plain`; `checkpoint`; `penalty`, whose backward pass is recorded to be differentiated; `own`, a backward of the
            user's own that calls a layer.
        again: Of the kernel that computes again, us.
    """
    builder = TraceBuilder()
    for number in range(3):
        at = number * 3_000
        builder.step(number, at, 3_000)
        _layer(builder, at + 10, at + 50, 7)
        node = "OwnBackward" if kind == "own" else "autograd::engine::evaluate_function: MmBackward0"
        builder.op(node, at + 600, 300, **{"Sequence number": 7})
        if kind in ("checkpoint", "own"):
            _layer(builder, at + 610, at + 700, 9 if kind == "checkpoint" else None, again)
        recorded = {"Sequence number": 8} if kind == "penalty" else {}
        builder.op("aten::mm", at + 800, 20, **SIZES, **recorded)
        builder.launch(at + 805, kernel_start=at + 1_200, kernel_dur=400, name=MATRIX, op=None)
    return builder


def _layer(builder: TraceBuilder, at: float, kernel: float, sequence: int | None, dur: float = 400) -> None:
    recorded = {"Sequence number": sequence} if sequence is not None else {}
    builder.op("aten::linear", at, 60, **recorded)
    builder.op("aten::mm", at + 10, 20, **SIZES, **recorded)
    builder.launch(at + 15, kernel_start=kernel, kernel_dur=dur, name=MATRIX, op=None)


def test_it_is_told_without_a_saving() -> None:
    found = judged(RULE, world())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "for 400 us a step (13 %). That buys memory." in found.finding.why


@pytest.mark.parametrize(("again", "state"), [(151, State.FIRED), (149, State.CLEAR)])
def test_boundary(again: float, state: State) -> None:
    assert run(RULE, world(again=again)).state is state


@pytest.mark.parametrize(
    ("kind", "state"), [("plain", State.CLEAR), ("penalty", State.CLEAR), ("own", State.CANNOT_TELL)]
)
def test_gradients_are_no_recomputation(kind: str, state: State) -> None:
    assert run(RULE, world(kind)).state is state


@pytest.mark.parametrize(("free", "saved_ns"), [(60, 3_000_000), (40, 0)])
def test_where_memory_has_room_the_time_is_claimed(free: int, saved_ns: int) -> None:
    memory = {"total_bytes": 100 << 30, "available_bytes": free << 30}
    builder = TraceBuilder(None, advisor={"samples": {"memory": memory}})
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.op("aten::linear", at + 10, 2_000, **{"Sequence number": 7})
        node = "autograd::engine::evaluate_function: AddmmBackward0"
        builder.op(node, at + 2_100, 7_800, **{"Sequence number": 7})
        builder.op("aten::linear", at + 2_200, 3_000, **{"Sequence number": 9})
    assert judged(RULE, builder).ns_per_step == saved_ns
