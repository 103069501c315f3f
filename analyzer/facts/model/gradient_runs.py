"""Gradients that are zeroed by hand, tensor by tensor, beside the update."""

from __future__ import annotations

import numpy as np

from analyzer.facts.device.outside_ops import launches_beside
from analyzer.facts.model.optimizer_spans import OptimizerSpans
from analyzer.spans.arrays import BoolArray
from analyzer.spans.intervals import EMPTY, IntervalSet


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
