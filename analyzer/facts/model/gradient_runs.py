"""What is done to gradients tensor by tensor beside the update: norms to clip by, zeroing by hand."""

from __future__ import annotations

import numpy as np

from analyzer.facts.device.outside_ops import launches_beside
from analyzer.facts.model.optimizer_spans import OptimizerSpans
from analyzer.spans.arrays import BoolArray
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.pauses import long_pauses

# What stands between norms that are none of gradients: layers, of whose weights they are, as spectral norm takes them, or tensors
# made of rows, of each of which they are, as of a sample's gradient: no call takes those of all tensors at once.
_LAYER = r"aten::(?:conv\w*|_convolution|linear|addmm|b?mm|mv|matmul|embedding|lstm|gru)$"
_RESHAPED = r"aten::(?:reshape|view|_reshape_alias)$"


def norms(measure: OptimizerSpans) -> tuple[IntervalSet, int]:
    """Runs of norms, one per gradient, between the backward pass and the update: `clip_grad_norm_` without foreach."""
    hidden = measure.in_steps | measure.tree.under(measure.range_of("loader"))
    seen = measure.topmost_ops & measure.inside & ~hidden
    rows = np.flatnonzero(measure.tree.matching(r"aten::(?:linalg_vector_norm|norm|linalg_norm)$") & seen)
    if not len(rows):
        return EMPTY, 0
    top = np.flatnonzero(seen)
    top = top[np.lexsort((measure.start[top], measure.tree.frame["thread"].to_numpy()[top]))]
    runs = measure.runs(top, 4)
    if not len(runs):
        return EMPTY, 0
    first, length = runs.first, runs.length
    before = np.concatenate([[0], np.cumsum(np.isin(top, rows))])
    mine = before[first + length] - before[first] >= runs.repeats
    for other in (_LAYER, _RESHAPED):
        between = np.concatenate([[0], np.cumsum(measure.tree.matching(other)[top])])
        mine &= between[first + length] - between[first] < runs.repeats
    first, length = first[mine], length[mine]
    spans = IntervalSet(measure.start[top[first]], measure.end[top[first + length - 1]]) & measure.steps.window
    spans -= long_pauses(measure.start[top], measure.end[top], first, length)
    return spans, int((spans.contains(measure.start[rows])).sum())


def zero_runs(measure: OptimizerSpans, known: BoolArray) -> IntervalSet:
    """Ten or more `aten::zero_` in a row outside the optimizer's ranges, and nothing launched between them."""
    zeroing = measure.tree.named("aten::zero_")
    rows = np.flatnonzero(measure.topmost_ops & measure.inside & ~known)
    if not zeroing[rows].any():
        return EMPTY
    rows = rows[np.lexsort((measure.start[rows], measure.tree.frame["thread"].to_numpy()[rows]))]
    runs = measure.runs(rows, 10, max_period=2)
    runs = runs.at(zeroing[rows[runs.first]])
    if not len(runs):
        return EMPTY
    first, length = runs.first, runs.length
    # What is zeroed for a kernel that an extension launches behind each, as Triton's autotuner does, is no row of gradients.
    alone = ~launches_beside(measure.device.launched, measure.tree.frame.iloc[rows], first, length)
    first, length = first[alone], length[alone]
    return IntervalSet(measure.start[rows[first]], measure.end[rows[first + length - 1]]) & measure.steps.window
