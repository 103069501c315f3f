"""Samples that go through the model one by one: turns of a loop that hold layers and a loss, and one backward pass for all.

Where each turn runs backward by itself, `backward_passes` tells of it. Whether turns are samples no trace says: they may be steps
in time, or heads. A recurrent layer that begins from a state of zeros in each turn needs no turn before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.facts.host.tree import HostTree
from analyzer.facts.loops.loop import Loop
from analyzer.facts.loops.products import PRODUCTS
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, matching
from analyzer.spans.usual import usual_ns
from traces.patterns import Pattern
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

_LOSS = Pattern(
    r"aten::(?:cross_entropy_loss|nll_loss(?:_nd)?|mse_loss|l1_loss|smooth_l1_loss|huber_loss|binary_cross_entropy(?:_with_logits)?"
    r"|kl_div|ctc_loss|soft_margin_loss|multi_margin_loss|multilabel_margin_loss|poisson_nll_loss|cosine_embedding_loss"
    r"|margin_ranking_loss|triplet_margin_loss|hinge_embedding_loss)$"
)
_RECURRENT = Pattern(r"aten::(?:lstm|gru|rnn_tanh|rnn_relu)$")
_LAYER = Pattern(
    r"aten::(?:linear|addmm|mm|matmul|bmm|baddbmm|einsum|conv\w*|lstm|gru|rnn_tanh|rnn_relu|scaled_dot_product\w*)$"
)
# A state that a turn hands to the next is put beside its input, in the layers that tutorials write by hand.
_JOINS = "aten::cat"
_STATE = "aten::zeros"


class SampleLoop(msgspec.Struct, frozen=True):
    """One loop of that kind.

    Args:
        loop: The loop.
        recurrent: Whether a recurrent layer begins anew in each turn: no turn needs the one before.
        several_layers: Whether a turn has more than one layer; with one, turns may be heads.
        products: When products are computed in it, of which a batch has as many to compute.
        usual_op_ns: Mean time of an op in the forward part that calls no other op, without those that took far longer.
    """

    loop: Loop
    recurrent: bool
    several_layers: bool
    products: IntervalSet
    usual_op_ns: float


def sample_loops(trace: Trace, tree: HostTree, loops: Sequence[Loop]) -> tuple[SampleLoop, ...]:
    """Those of the loops that take samples through the model, longest first."""
    found = [loop for loop in loops if _of_samples(loop)]
    if not found:
        return ()
    ops = trace.ops
    nodes = ops["start_ns"].to_numpy()[matching(ops["name"], is_backward_node)]
    products = IntervalSet.of_rows(ops[ops["name"].isin(PRODUCTS)])
    return tuple(_sample_loop(tree, products, loop) for loop in found if not loop.forward.contains(nodes).any())


def _of_samples(loop: Loop) -> bool:
    """Whether a turn holds layers and a loss, is no step of a cell, and hands no state on that the trace shows."""
    if not loop.of_layers or loop.phase not in ("forward", "loss") or loop.steps_a_cell or loop.calls_experts:
        return False
    hands_on = _JOINS in loop.unit or (_any(_RECURRENT, loop.unit) and _STATE not in loop.unit)
    return _any(_LOSS, loop.unit) and not hands_on


def _sample_loop(tree: HostTree, products: IntervalSet, loop: Loop) -> SampleLoop:
    layers = sum(_LAYER.match(name) is not None for name in loop.unit)
    return SampleLoop(
        loop=loop,
        recurrent=_any(_RECURRENT, loop.unit),
        several_layers=layers > 1,
        products=products & loop.spans,
        usual_op_ns=usual_leaf_ns(tree, loop.forward),
    )


def usual_leaf_ns(tree: HostTree, spans: IntervalSet) -> float:
    """Usual time of the ops in some spans that hold no other: a layer of 100 small ops is dispatch, however long it takes."""
    frame = tree.frame
    holds = np.zeros(len(frame), dtype=bool)
    inner = tree.parent != np.arange(len(tree.parent))
    holds[tree.parent[inner]] = True
    wanted = tree.of_source("ops") & ~holds & spans.contains(frame["start_ns"].to_numpy())
    return usual_ns(codes_of(frame["name"])[wanted].astype(np.int64), tree.dur_ns[wanted])


def _any(pattern: Pattern[str], names: Sequence[str]) -> bool:
    return any(pattern.match(name) for name in names)
