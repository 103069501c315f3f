"""Products that a recomputation opens and does not compute count for no utilisation: on worlds, and on recordings made here."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from analyzer.facts import Facts
from analyzer.hardware.call import Work
from analyzer.hardware.document import hardware
from analyzer.hardware.operators import operators
from building.builders import TraceBuilder
from traces.reader.read import read

SIZES = {"Input Dims": [[512, 512], [512, 512]], "Input type": ["float"] * 2}
CALIBRATION = {"device": "cpu", "threads": 1, "flops_per_s": {"fp32": 1e11}, "bytes_per_s": 2e10}


def world(inside: tuple[str, ...], *, told: bool = True) -> TraceBuilder:
    """Steps of two layers on the CPU of which checkpoint computes the first again and opens the second.

    Args:
        inside: What the second holds.
        told: Whether products that compute hold anything.
    """
    builder = TraceBuilder(
        device=None, advisor={"calibration": CALIBRATION, "threads": {"intra_op": 1}, "device": "cpu"}
    )
    computes = ("aten::resolve_conj",) if told else ()
    for number in range(3):
        at = number * 30_000
        builder.step(number, at, 29_000)
        _layer(builder, at + 10, 4_000, sequence=7, inside=computes)
        _layer(builder, at + 5_000, 4_000, sequence=8, inside=computes)
        builder.op("autograd::engine::evaluate_function: MmBackward0", at + 10_000, 15_000, **{"Sequence number": 8})
        _layer(builder, at + 10_010, 4_000, sequence=9, inside=("aten::detach", *computes))
        _layer(builder, at + 15_000, 100, sequence=10, inside=inside)
        _product(builder, at + 16_000, 4_000, computes)
    return builder


def _layer(builder: TraceBuilder, at: float, dur: float, *, sequence: int, inside: tuple[str, ...]) -> None:
    recorded = {"Sequence number": sequence}
    builder.op("aten::linear", at, dur, **recorded)
    _product(builder, at + 5, dur - 10, inside, **recorded)


def _product(builder: TraceBuilder, at: float, dur: float, inside: tuple[str, ...], **args: Any) -> None:
    builder.op("aten::mm", at, dur, **SIZES, **args)
    for place, name in enumerate(inside):
        builder.op(name, at + 5 + 10 * place, 5)


def _counted(builder: TraceBuilder) -> list[tuple[int, int]]:
    return [
        (one.calls, one.recomputed_calls) for one in hardware(Facts(builder.trace())).operators if one.op == "aten::mm"
    ]


@pytest.mark.parametrize(
    "inside", [("aten::detach",), ("aten::detach", "detach"), ("aten::detach", "PythonDispatchMode")]
)
def test_a_product_that_only_saved_its_inputs_was_not_computed(inside: tuple[str, ...]) -> None:
    builder = world(inside)
    assert _counted(builder) == [(12, 3)]
    found = hardware(Facts(builder.trace()))
    call = 2 * 512**3 / 1e11
    assert found.hfu_ratio == pytest.approx(12 * call / 89e-3)
    assert found.mfu_ratio == pytest.approx(9 * call / 89e-3)


@pytest.mark.parametrize("inside", [("aten::detach", "aten::resolve_conj"), ("aten::resolve_conj",), ()])
def test_a_product_that_holds_more_or_saved_nothing_was_computed(inside: tuple[str, ...]) -> None:
    """As where the recomputation goes to its end, and where it is a call of the function itself."""
    builder = world(inside)
    assert _counted(builder) == [(15, 6)]


def test_where_products_hold_nothing_utilisation_is_left_open() -> None:
    """A version of torch, or a build, whose products call nothing inside: one that stopped looks like one that did not."""
    found = hardware(Facts(world(("aten::detach",), told=False).trace()))
    assert found.hfu_ratio is None
    assert found.mfu_ratio is None
    assert "checkpoint may stop" in found.utilisation_reason


@pytest.mark.parametrize("wrapped", ["stops", "to its end", "reentrant", "keeps products", "plain"])
@pytest.mark.parametrize("kind", ["addmm", "mm", "bmm", "convolution", "attention"])
def test_on_recordings_flops_are_those_that_torch_counts(kind: str, wrapped: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from torch.profiler import profile, record_function
    from torch.utils.flop_counter import FlopCounterMode

    step = _step(kind, wrapped)
    with FlopCounterMode(display=False) as counter:
        step()
    if kind == "attention" and not counter.get_total_flops():
        pytest.skip("torch before 2.15 counts nothing of attention on the CPU")
    with profile(record_shapes=True) as recorded:
        for number in range(3):
            with record_function(f"ProfilerStep#{number}"):
                step()
    recorded.export_chrome_trace(str(tmp_path / "trace.json"))
    found = operators(Facts(read(tmp_path / "trace.json")))
    assert found.perhaps_computed == 0
    assert sum(one.calls * one.work.flops for one in found.rows if isinstance(one.work, Work)) == (
        3 * counter.get_total_flops()
    )


def _step(kind: str, wrapped: str) -> Any:
    """A forward and a backward pass of two products, wrapped in a checkpoint."""
    torch = pytest.importorskip("torch")
    from torch.utils import checkpoint as module

    if not hasattr(module, "CheckpointPolicy"):
        pytest.skip("this torch has no selective checkpointing")
    layers = {
        "addmm": lambda: torch.nn.Linear(16, 16), "mm": lambda: torch.nn.Linear(16, 16, bias=False),
        "convolution": lambda: torch.nn.Conv1d(16, 16, 1),
    }.get(kind, torch.nn.Identity)  # fmt: skip
    first, second = layers(), layers()

    def block(x: Any) -> Any:
        if kind == "bmm":
            return torch.bmm(torch.relu(torch.bmm(x, x)), x)
        if kind == "attention":
            return torch.nn.functional.scaled_dot_product_attention(x, torch.relu(x), x)
        return second(torch.relu(first(x)))

    products = {torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.bmm.default}
    keeps = functools.partial(
        module.create_selective_checkpoint_contexts,
        lambda _, op, *args, **more: (
            module.CheckpointPolicy.MUST_SAVE if op in products else module.CheckpointPolicy.PREFER_RECOMPUTE
        ),
    )

    def step() -> None:
        shape = {"addmm": (4, 16), "mm": (4, 16), "convolution": (4, 16, 16)}.get(kind, (4, 16, 16))
        x = torch.randn(*((2, *shape) if kind == "attention" else shape), requires_grad=True)
        if wrapped == "plain":
            y = block(x)
        else:
            with module.set_checkpoint_early_stop(wrapped != "to its end"):
                more = {"context_fn": keeps} if wrapped == "keeps products" else {}
                y = module.checkpoint(block, x, use_reentrant=wrapped == "reentrant", **more)
        y.sum().backward()

    return step
