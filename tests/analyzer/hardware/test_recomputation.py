"""What is computed twice, told from gradients: on worlds written as torch records them, and on recordings made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.facts import Facts
from analyzer.hardware.document import hardware
from building.builders import TraceBuilder
from programs.hardware import MATRIX
from traces.reader.read import read

SIZES = {"Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16"] * 2}


def world(kind: str = "checkpoint") -> TraceBuilder:
    """Steps of a layer and its gradient, 400 us each; `checkpoint` computes the layer again inside the gradient's node.

    Args:
        kind: `plain`; `checkpoint`; `penalty`, whose backward pass is recorded to be differentiated; `own`, a backward of
            the user's own that calls a layer.
    """
    builder = TraceBuilder(device="rocm")
    for number in range(3):
        at = number * 3_000
        builder.step(number, at, 3_000)
        _layer(builder, at + 10, at + 50, sequence=7)
        node = "autograd::engine::evaluate_function: MmBackward0" if kind != "own" else "OwnBackward"
        builder.op(node, at + 600, 300, **{"Sequence number": 7})
        if kind == "checkpoint":
            _layer(builder, at + 610, at + 700, sequence=9)
        if kind == "own":
            _layer(builder, at + 610, at + 700, sequence=None)
        recorded = {"Sequence number": 8} if kind == "penalty" else {}
        builder.op("aten::mm", at + 800, 20, **SIZES, **recorded)
        builder.launch(at + 805, kernel_start=at + 1_200, kernel_dur=400, name=MATRIX, op=None)
    return builder


def _layer(builder: TraceBuilder, at: float, kernel: float, *, sequence: int | None) -> None:
    recorded = {"Sequence number": sequence} if sequence is not None else {}
    builder.op("aten::linear", at, 60, **recorded)
    builder.op("aten::mm", at + 10, 20, **SIZES, **recorded)
    builder.launch(at + 15, kernel_start=kernel, kernel_dur=400, name=MATRIX, op=None)


def test_a_layer_computed_again_is_told_from_its_gradient() -> None:
    facts = Facts(world().trace())
    found = facts.kernels.recomputation
    assert found.spans.total_ns == 3 * 400_000
    document = hardware(facts)
    assert document.recomputed_ratio == pytest.approx(400 / 3_000)
    assert document.mfu_ratio == pytest.approx((document.hfu_ratio or 0) * 2 / 3)
    assert [(one.calls, one.recomputed_calls) for one in document.operators] == [(9, 3)]
    assert {one.name: one.step_ns for one in document.ceilings}["recomputation"] == 2_600_000


@pytest.mark.parametrize("kind", ["plain", "penalty"])
def test_gradients_alone_are_no_recomputation(kind: str) -> None:
    facts = Facts(world(kind).trace())
    assert not facts.kernels.recomputation.spans
    document = hardware(facts)
    assert document.recomputed_ratio == 0
    assert document.mfu_ratio == document.hfu_ratio is not None


def test_a_backward_of_the_users_own_leaves_it_open() -> None:
    document = hardware(Facts(world("own").trace()))
    assert document.hfu_ratio is not None
    assert document.mfu_ratio is None
    assert document.recomputed_ratio is None
    assert "user's own" in document.utilisation_reason
    assert next(one for one in document.ceilings if one.name == "recomputation").step_ns is None


@pytest.mark.parametrize("reentrant", [None, False, True])
def test_on_recordings_as_many_layers_are_computed_again_as_were_wrapped(
    reentrant: bool | None, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    from torch.profiler import profile, record_function
    from torch.utils.checkpoint import checkpoint

    first, second = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)

    def block(x: object) -> object:
        return second(torch.relu(first(x)))

    with profile(record_shapes=True) as recorded:
        for number in range(3):
            with record_function(f"ProfilerStep#{number}"):
                x = torch.randn(4, 16, requires_grad=True)
                y = block(x) if reentrant is None else checkpoint(block, x, use_reentrant=reentrant)
                y.sum().backward()  # type: ignore[attr-defined]
    path = tmp_path / "trace.json"
    recorded.export_chrome_trace(str(path))
    facts = Facts(read(path))
    again = facts.trace.ops[facts.kernels.recomputation.ops]
    layers = int((again["name"] == "aten::addmm").sum())
    # Both layers in each step; without reentry torch stops as soon as it has what the gradients need, the input of the second.
    assert layers == {None: 0, False: 3, True: 6}[reentrant] or (reentrant is False and layers == 6)
    assert not facts.kernels.recomputation.unclear


def test_perfect_overlap_is_no_longer_than_the_longest_kind_of_work() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 1_000)
        builder.launch(at + 10, kernel_start=at + 100, kernel_dur=400)
        builder.launch(at + 30, kernel_start=at + 550, kernel_dur=250, name="ncclDevKernel_AllReduce_Sum_f32", stream=9)
    found = {one.name: one for one in hardware(Facts(builder.trace())).ceilings}
    # 650 us of work take as long as the 400 us of compute.
    assert found["overlap"].step_ns == 750_000
    assert found["recomputation"].step_ns == 1_000_000
    assert found["roofline"].step_ns is None
