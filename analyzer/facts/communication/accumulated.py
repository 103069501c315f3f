"""How often the gradients of one module are reduced before an update: for each micro-batch, unless the program says otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.communication.passes import layers_ns
from analyzer.facts.host.ops import OpTree
from analyzer.facts.steps.find import Steps
from analyzer.ranks.names import kind_of
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any, matching
from traces.patterns import Pattern
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# `FSDPParamGroup.post_backward` leaves it around each reduce-scatter, with the path of the module (torch/distributed/fsdp/
# _fully_shard/_fsdp_param_group.py).
_REDUCED = Pattern(r"FSDP::post_backward_reduce \(.+\)$")

# FSDP1 scatters the gradients of each of its units in it (torch/distributed/fsdp/_runtime_utils.py).
_SCATTERED = Pattern(r"FullyShardedDataParallel\._post_backward_hook$")

# The node in which a parameter receives its gradient.
_GRADIENTS = "AccumulateGrad"


def reductions_a_step(trace: Trace, steps: Steps) -> int:
    """Reductions of the gradients of one module in a used step, median over modules and steps; 0 where FSDP2 shows none.

    Args:
        trace: The trace.
        steps: The steps.
    """
    ranges = trace.annotations
    ranges = ranges[matching(ranges["name"], _REDUCED.match)]
    step = steps.of_host(ranges["start_ns"].to_numpy())
    inside = step >= 0
    if not inside.any():
        return 0
    counts = (
        pd.Series(1, index=step[inside]).groupby([step[inside], ranges["name"].astype("str").to_numpy()[inside]]).sum()
    )
    return int(np.median(counts.to_numpy()))


def reduced_passes(trace: Trace, steps: Steps, tree: OpTree) -> int:
    """Backward passes before one update in each of which DDP reduces gradients equally often; 0 where it does not show.

    DDP reduces inside the nodes that accumulate gradients. Passes that reduce other numbers of buckets are those of other models.

    Args:
        trace: The trace.
        steps: The steps.
        tree: Which op encloses which.
    """
    calls = trace.collectives
    nodes = tree.named(is_backward_node)
    reduces = matching(calls["name"], lambda name: name.startswith("c10d::") and kind_of(name) == "all_reduce")
    at, thread = (calls[name].to_numpy()[reduces] for name in ("start_ns", "thread"))
    around = tree.enclosing(thread, at)
    at = np.sort(at[np.append(nodes, False)[around] & steps.host_window.contains(at)])
    if not len(at):
        return 0
    updates = _updates(trace)
    return _passes(at, updates if len(updates) else None, steps, tree)


def scattered_passes(trace: Trace, steps: Steps, tree: OpTree) -> int:
    """Backward passes before one update in each of which FSDP1 scatters gradients equally often; 0 where it does not show.

    Args:
        trace: The trace.
        steps: The steps.
        tree: Which op encloses which.
    """
    calls, ranges = trace.collectives, trace.annotations
    behind = IntervalSet.of_rows(ranges, matching(ranges["name"], _SCATTERED.match)) & steps.host_window
    scatters = matching(calls["name"], lambda name: name.startswith("c10d::") and kind_of(name) == "reduce_scatter")
    at = np.sort(calls["start_ns"].to_numpy()[scatters])
    at = at[behind.contains(at)]
    updates = _updates(trace)
    return _passes(at, updates, steps, tree) if len(at) and len(updates) else 0


def accumulated_passes(trace: Trace, steps: Steps, tree: OpTree) -> int:
    """Backward passes before one update, each of which brings as many gradients; 0 where it does not show.

    Args:
        trace: The trace.
        steps: The steps.
        tree: Which op encloses which.
    """
    brings = tree.outermost(tree.named(lambda name: is_backward_node(name) and _GRADIENTS in name))
    at = np.sort(tree.ops["start_ns"].to_numpy()[brings])
    at = at[steps.host_window.contains(at)]
    updates = _updates(trace)
    return _passes(at, updates, steps, tree) if len(at) and len(updates) else 0


def _updates(trace: Trace) -> Int64Array:
    """When the optimizer's steps begin, sorted, shape (updates,)."""
    return np.sort(trace.annotations["start_ns"].to_numpy()[is_any(trace.annotations["kind"], "optimizer_step")])


def _passes(at: Int64Array, updates: Int64Array | None, steps: Steps, tree: OpTree) -> int:
    """In how many passes before an update, or in a step, something comes equally often; 0 where that differs.

    Args:
        at: When it comes, sorted, shape (n,).
        updates: Starts of the updates, sorted; None without any.
        steps: The steps.
        tree: Which op encloses which.
    """
    update = np.searchsorted(updates, at) if updates is not None else steps.of_host(at)
    found = pd.Series(1, index=at).groupby([update, np.searchsorted(layers_ns(tree), at)]).sum()
    by_update = found.groupby(level=0).agg(["size", "min", "max"])
    # The recording may begin or end within an update's passes.
    whole = by_update.iloc[1:-1] if len(by_update) > 2 else by_update
    alike = (whole["min"] == whole["max"]).all() and whole["size"].nunique() == 1
    return int(whole["size"].iloc[0]) if alike else 0
