"""Steps of an evaluation in front of those that train, or behind them: a mean over both is of neither loop.

They draw batches, and run no backward pass. A rollout draws none, accumulated gradients have a backward pass each, and a step that
is replayed from a graph shows none.
"""

from __future__ import annotations

import numpy as np

from analyzer.facts.steps.index import position_of
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.labels import is_any, matching
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

OF_EVALUATION = "of an evaluation"
# Of either kind; fewer are no loop.
_MIN_STEPS = 3
# Training, an evaluation, and training again. What takes turns more often is one program's step.
_MOST_CHANGES = 2


def evaluations(trace: Trace, host_start: Int64Array, host_end: Int64Array) -> dict[int, str]:
    """Why steps of an evaluation beside training are left out, by their positions; empty where there is but one loop.

    Args:
        trace: The trace.
        host_start: Start of each step on the host, sorted, shape (n,).
        host_end: End of each step on the host, shape (n,).
    """
    if len(host_start) < 2 * _MIN_STEPS:
        return {}

    def having(at_ns: Int64Array) -> BoolArray:
        step = position_of(at_ns, host_start, host_end)
        return np.bincount(step[step >= 0], minlength=len(host_start)) > 0

    ranges, calls = trace.annotations, trace.runtime
    trains = having(trace.ops["start_ns"].to_numpy()[matching(trace.ops["name"], is_backward_node)])
    draws = having(ranges["start_ns"].to_numpy()[is_any(ranges["kind"], "loader")])
    updates = having(ranges["start_ns"].to_numpy()[is_any(ranges["kind"], "optimizer_step", "zero_grad")])
    replays = having(calls["start_ns"].to_numpy()[is_any(calls["kind"], "graph_launch")])
    evaluates = draws & ~trains & ~updates & ~replays
    kinds = trains[trains | evaluates]
    if (
        min(int(trains.sum()), int(evaluates.sum())) < _MIN_STEPS
        or int((kinds[1:] != kinds[:-1]).sum()) > _MOST_CHANGES
    ):
        return {}
    why = f"{OF_EVALUATION}: no backward pass, as {int(trains.sum())} others have"
    return dict.fromkeys(np.flatnonzero(evaluates).tolist(), why)
