"""GR007: an RMSNorm written out, 100 us a kernel, forward and backward, in steps of 10 ms."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import AUTOGRAD, TraceBuilder
from rules.graph.known_patterns import RULE
from running.one_rule import judged, run

RMS = ("pow", "mean", "add", "rsqrt", "mul", "mul")
LLAMA = ("to", "pow", "mean", "add", "rsqrt", "mul", "to", "mul")
SWIGLU = ("linear", "silu", "linear", "mul", "linear")
ROTARY = ("mul", "slice", "slice", "neg", "cat", "mul", "add")
# As transformers' NewGELUActivation, Megatron's and BERT's; as ConvNeXt's and Segment Anything's LayerNorm2d.
NEW_GELU = ("mul", "pow", "mul", "add", "mul", "tanh", "add", "mul")
MEGATRON_GELU = ("mul", "mul", "mul", "mul", "add", "mul", "tanh", "add", "mul")
BERT_GELU = ("mul", "div", "erf", "add", "mul")
NORM_2D = ("mean", "sub", "pow", "mean", "sub", "add", "sqrt", "div", "unsqueeze", "mul", "add")
NODE = "autograd::engine::evaluate_function: "


def world(*, names: Sequence[str] = RMS, dur: float = 100, compiled: bool = False) -> TraceBuilder:
    """Three steps; each op launches a kernel and leaves a node, which launches another."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.launch(at, kernel_start=at + 10, kernel_dur=200, op="aten::linear")
        for place, name in enumerate((*names, "relu")):
            when, sequence = at + 100 + place * 20, number * 100 + place
            own = 100 if name == "relu" else dur
            builder.op(f"aten::{name}", when, 15, **{"Sequence number": sequence})
            builder.launch(when + 2, kernel_start=at + 1_000 + place * 300, kernel_dur=own, op=None)
            builder.op(
                f"{NODE}{name.title()}Backward0", when + 2_000, 15, thread=AUTOGRAD, **{"Sequence number": sequence}
            )
            builder.launch(
                when + 2_002, kernel_start=at + 5_000 + place * 300, kernel_dur=own, op=None, thread=AUTOGRAD
            )
        if compiled:
            builder.op("Torch-Compiled Region: 0/0", at + 9_000, 10)
    return builder


def test_fires_with_its_kernels_forward_and_backward():
    found = judged(RULE, world())
    assert found.finding.saving.kernel_ns == 3 * 12 * 100_000
    assert "RMSNorm 12 % of the step" in found.finding.why
    assert "rms_norm" in found.finding.fix[1].code


@pytest.mark.parametrize(("torch", "library"), [("2.8.0", True), ("2.9.0", False)])
def test_where_torchs_own_norm_is_the_same_chain_a_librarys_is_named(torch, library):
    builder = world()
    builder.top["advisor"] = {"versions": {"torch": torch}}
    codes = "\n".join(advice.code for advice in judged(RULE, builder).finding.fix)
    assert ("LigerRMSNorm" in codes) is library
    assert ("functional.rms_norm" in codes) is not library


@pytest.mark.parametrize(
    ("names", "name", "kernels"),
    [
        (LLAMA, "RMSNorm", 12),
        (NEW_GELU, "GELU", 16),
        (MEGATRON_GELU, "GELU", 18),
        (BERT_GELU, "GELU", 10),
        (NORM_2D, "normalisation", 20),
        (SWIGLU, "SwiGLU", 4),
        (ROTARY, "rotary embedding", 10),
        (("cross_entropy_loss",), "cross entropy", 2),
    ],
)
def test_ways_of_writing(names, name, kernels):
    (found,) = Facts(world(names=names).trace()).kernels.patterns
    assert (found.name, found.calls, int(found.kernels.sum())) == (name, 3, 3 * kernels)


@pytest.mark.parametrize(
    ("names", "said"), [(NEW_GELU, 'functional.gelu(x, approximate="tanh")'), (NORM_2D, "functional.layer_norm")]
)
def test_torchs_own_op_is_named(names, said):
    assert said in judged(RULE, world(names=names)).finding.fix[1].code


@pytest.mark.parametrize(("dur", "state"), [(41, State.CLEAR), (42, State.FIRED)])
def test_boundary(dur, state):
    assert run(RULE, world(dur=dur)).state is state


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ({"names": ("pow", "mean", "relu", "add", "rsqrt", "mul")}, State.NOT_APPLICABLE),
        ({"names": ("silu", "linear", "linear", "mul")}, State.NOT_APPLICABLE),
        # Gates of a cell, a standardised batch without what would make it a norm, and torch's own.
        ({"names": ("mul", "add", "tanh", "mul")}, State.NOT_APPLICABLE),
        ({"names": ("mean", "sub", "std", "div")}, State.NOT_APPLICABLE),
        ({"names": ("gelu", "layer_norm", "mul", "add")}, State.NOT_APPLICABLE),
        ({"compiled": True}, State.CLEAR),
    ],
)
def test_quiet(arguments, state):
    assert run(RULE, world(**arguments)).state is state
