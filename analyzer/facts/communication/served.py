"""Whether a rank takes gradients that another one applies, or applies those of others: a parameter server and its workers.

A stage of a pipeline does both: it has a backward pass, and updates its layers.
"""

from __future__ import annotations

from typing import Literal

from analyzer.facts.steps.find import Steps
from analyzer.spans.labels import is_any, matching
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

Part = Literal["server", "worker"]


def served_part(trace: Trace, steps: Steps) -> Part | None:
    """What the rank may be; None where it has both a backward pass and an update in the used steps, or neither.

    Args:
        trace: The trace.
        steps: The steps.
    """
    window, ops, ranges = steps.host_window, trace.ops, trace.annotations
    nodes = window.contains(ops["start_ns"].to_numpy()[matching(ops["name"], is_backward_node)]).any()
    updates = window.contains(ranges["start_ns"].to_numpy()[is_any(ranges["kind"], "optimizer_step")]).any()
    if nodes == updates:
        return None
    return "worker" if nodes else "server"
